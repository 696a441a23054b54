import { readFile } from "node:fs/promises";
import { execa } from "execa";
import { expect, test } from "vitest";

/** What its name makes a parser, and why no target calls it. */
const OTHERS: Readonly<Record<string, string>> = {
  decodeBody:
    "asynchronous; JSON.parse, after a decompression that is bounded (test/shared/bmc/providers/redfish/properties.test.ts)",
  Reading: "what parseTemplate, which is a target, reads fields with",
  parseYamlDocuments: "what the import of Rufio, which is a target, reads first",
  convertReading: "what describeSensor, which a target calls, computes",
  decodeField: "one field of the areas and records whose parsers are targets",
  parseFactors: "six bytes of what parseSensorRecord and parseReadingFactors, which are targets, read",
  readFault: "what faultError, which a target calls, reads",
  decode: "undoes one notation for SecretLineRedactor",
  actionMatches: "calls matches, which is a target",
  ReadThrottle: "counts bytes",
  FirstReading: "keeps one value",
  readInventoryChoices: "reads its file with parseInventory, which is a target",
  JoinedLineRedactor: "what redactor, which is a target, calls for each line of several texts",
  parseStatement: "what substitute, which is a target, reads between braces",
  readTree: "what substitute, which is a target, reads first",
  SecretLineRedactor: "what redactor, which is a target, calls for each line",
  MachineReader: "reads machines, not text",
  readMachine: "calls the BMC client",
  matchesAnyImage: "calls matchesImagePattern, which is a target",
  mergeReadings: "merges readings that were parsed",
  readable: "calls another read and catches its error",
  readableAction:
    "turns a malformed action into one that is refused; the transports' readers, which are targets, call it",
  readAuthn: "reads the fields of a message that protobuf has decoded",
  readActiveInstances: "sends a request, whose answer goes to parseActiveInstances",
  readBundle: "reads a file for the schema of connections",
  readCertificate: "opens a TLS connection, whose certificate Node parses",
  readPeerCertificate: "the same, of a BMC",
  readCandidates: "reads a file for schemas of the inventory, which are targets",
  readCandidate: "reads a file of the worker's own user",
  describeReading: "words for a reading",
  getReadingFactors: "makes a request",
  getSensorReading: "makes a request",
  readConnection: "reads files and cluster objects for the schema of connections, which is a target",
  readCredentials: "reads files for readSecretText",
  readDirectory: "reads files for readSecretText",
  readDoctorOptions: "what the operator writes on the command line",
  readEntry: "reads a file for JournalEntry, which is a target",
  readFolder: "reads files for readSecretText",
  readFruData: "makes a request",
  readIdentity: "reads a file that is one line of JSON",
  readHostConnection: "reads cluster objects; the host's address goes to readAddress, which is a target",
  connectionRedactor: "what redactor, which is a target, is given",
  readInventory: "reads a file for parseInventory, which is a target",
  matching: "compares names by matches, and labels by Selector, which are targets",
  matchesMachine: "the same, for a rule of the policy",
  readInput: "reads files and variables for the fields' schemas",
  readKeptCertificates: "reads a file of the lab for its schema",
  readOwnFile: "reads a file, bounded",
  readPowerStatus: "sends a request, whose answer goes to parsePowerStatus",
  readResultFile: "reads a file for parseResultLine",
  readSecret: "reads files for readSecretText",
  readTail: "reads a pod's log for PodOutput, which is a target",
  readSecretKeys: "reads a Secret for readSecretText",
  parsedText: "makes a field of a parser, which is a target",
  readText: "reads a file or stdin, bounded",
  readTextFile: "reads a file, bounded, for decodeText",
  readIfPossible: "calls a reading of a driver",
  throwIfNoneRead: "judges a list that was read",
  readTask: "sends a request, whose answer is parsed by schemas",
  readUserTable: "sends requests, whose answers go to parseUserAccess and parseUserName",
  readValue: "reads a variable or a file",
  readingOfError: "turns an error of the BMC client into a status",
  readingOfOutcome: "turns the outcome of an action into a status",
  BmcReading: "reads a BMC with requests of its own, whose answers are parsed by schemas",
  openRedfishReader: "makes requests",
  openProgressLines: "writes lines",
  readIpmi: "sends requests through the IPMI client",
  readAmt: "sends requests, whose answers go to parseXml",
  readOfferedSuites: "sends requests, whose answers go to parseLanResponse",
  readWords: "reads the operator's command line",
  readUserAccess: "sends a request, whose answer goes to parseUserAccess",
  readBounded: "reads a file, bounded",
  readMockup: "reads files, bounded, for JSON.parse",
  readRecording: "reads a file for parseRecording, which is a target",
  readTlsFiles: "reads files of the configuration for Node's own parsers of certificates and keys",
  readWholeDirectory: "reads files for readSecretText",
};

const PARSER =
  /^export (?:async )?(?:function|class|const) (\w*(?:[pP]arse|(?<![uU]n)[rR]ead|[dD]ecode|[mM]atch|[rR]edact|Splitter|Lines)\w*)/gm;

/** The names that a file imports. */
const IMPORT = /^import \{([^}]*)\}/gm;

const matchesIn = (texts: readonly string[], pattern: RegExp) =>
  texts.flatMap((text) => [...text.matchAll(pattern)].map(([, found = ""]) => found));

async function readFiles(...patterns: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await execa("git", ["ls-files", ...patterns]);
  const files = stdout.split("\n").filter((file) => !file.includes("/gen/"));
  return Promise.all(files.map((file) => readFile(file, "utf8").catch(() => "")));
}

test("every exported function whose name says that it parses, reads or decodes is called by a target or has a reason not to be", async () => {
  const parsers = new Set(
    matchesIn(await readFiles("shared/*.ts", "worker/*.ts", "actions/*.ts", "cli/*.ts"), PARSER),
  );
  const imported = matchesIn(await readFiles("test/fuzz/targets/*.ts"), IMPORT);
  const covered = new Set(imported.flatMap((names) => names.match(/\w+/g) ?? []));

  expect(
    [...parsers].filter((name) => !covered.has(name) && !Object.hasOwn(OTHERS, name)).toSorted(),
  ).toEqual([]);
  expect(Object.keys(OTHERS).filter((name) => !parsers.has(name))).toEqual([]);
});
