import { CsvError, type Info, parse } from "csv-parse/sync";
import { defined } from "../../../shared/defined.ts";
import type { Problem } from "../../../shared/document/problem.ts";
import { suggestion } from "../../../shared/nearest-name.ts";
import { shortened } from "../../../shared/printable.ts";
import { Secret } from "../../../shared/secret.ts";
import { type Imported, type ImportedMachine, refusedInput } from "./imported-machine.ts";

type Field = "name" | "host" | "username" | "password" | "providers" | "port";

/** The known header names in lower case, with only their letters and digits. */
const HEADERS: Readonly<Record<Field, readonly string[]>> = {
  name: ["name", "hostname", "machine", "machinename", "node", "nodename", "server", "servername"],
  host: [
    ...["bmc", "bmcip", "bmcaddress", "bmchost", "bmchostname", "host", "address"],
    ...["ipmi", "ipmiip", "ipmiaddress", "ipmihost", "oob", "oobip", "oobaddress", "oobhost"],
    ...["idrac", "idracip", "ilo", "iloip", "mgmt", "mgmtip", "managementip", "poweraddress"],
  ],
  username: ["username", "user", "login", "bmcusername", "bmcuser", "ipmiusername", "ipmiuser", "poweruser"],
  password: ["password", "pass", "bmcpassword", "bmcpass", "ipmipassword", "ipmipass", "powerpass"],
  providers: ["provider", "providers", "type", "protocol", "protocols", "bmctype", "powertype"],
  port: ["port", "bmcport"],
};

/** Columns that become labels of the same name; others do with `label:` before the name. */
const LABELS = ["rack", "row", "room", "role"];
const LABEL_PREFIX = /^label:\s*/i;

const PROVIDERS = ["redfish", "ipmi", "ipmitool", "amt"] as const;
const PROVIDER_SYNONYMS: ReadonlyMap<string, string> = new Map([
  ["lanplus", "ipmi"],
  ["ipmilan", "ipmi"],
  ["intelamt", "amt"],
]);
/** Common columns that an inventory does not need. */
const UNUSED = ["mac", "macaddress", "bmcmac", "ipmimac", "bmcmacaddress"];
/** The possible delimiters. Excel writes semicolons in many languages. */
const DELIMITERS = [",", ";", "\t"];
const LARGEST_LINE_BYTES = 65_536;

interface Row {
  readonly record: readonly string[];
  readonly info: Info;
}

/** Reads CSV (RFC 4180) with a header line. `file` appears in messages. */
export function readCsv(text: string, file: string): Imported {
  let rows: readonly Row[];
  try {
    rows = parseRows(text);
  } catch (thrown) {
    return refusedInput(...csvProblem(thrown, file));
  }
  const [head, ...body] = rows;
  if (!head) return refusedInput(file, "is empty");
  const { columns, labels, ignored, problems } = readHeader(head.record, file);
  if (problems.length > 0) return { machines: [], skipped: [], problems, notes: [] };
  const machines: ImportedMachine[] = [];
  const found: Problem[] = [];
  for (const { record, info } of body) {
    // The parser reports the last line of a record.
    const source = `${file}:${info.lines - record.join("").split("\n").length + 1}`;
    if (record.length > head.record.length) {
      found.push({ source, message: "has more fields than the header: put fields with a comma in quotes" });
      continue;
    }
    const cells = (field: Field) => record[columns.get(field) ?? -1] || undefined;
    const { entry, problem } = readEntry(cells);
    if (problem !== undefined) found.push({ source, message: problem });
    const password = cells("password");
    machines.push({
      source,
      name: (cells("name") ?? "").toLowerCase(),
      entry: { ...entry, labels: labelsIn(record, labels) },
      ...defined({
        username: cells("username"),
        password: password === undefined ? undefined : new Secret(password),
      }),
    });
  }
  const notes = ignored.length > 0 ? [`ignored columns: ${ignored.join(", ")}`] : [];
  return { machines, skipped: [], problems: found, notes };
}

function parseRows(text: string): readonly Row[] {
  const [first = ""] = text.trimStart().split("\n", 1);
  const [delimiter = ","] = DELIMITERS.toSorted(
    (one, other) => occurrences(first, other) - occurrences(first, one),
  );
  // The types do not express that `info` changes the result.
  return parse(text, {
    bom: true,
    delimiter,
    info: true,
    max_record_size: LARGEST_LINE_BYTES,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    trim: true,
  }) as unknown as readonly Row[];
}

function occurrences(text: string, part: string): number {
  return text.split(part).length;
}

/** Describes an error of the parser without quoting the file, which contains passwords. */
function csvProblem(thrown: unknown, file: string): readonly [source: string, message: string] {
  if (!(thrown instanceof CsvError)) throw thrown;
  const line: unknown = Reflect.get(thrown, "lines");
  const reasons: Readonly<Record<string, string>> = {
    CSV_QUOTE_NOT_CLOSED: "a quote is not closed",
    CSV_INVALID_CLOSING_QUOTE: "text follows a closing quote: write a quote inside a field twice",
    INVALID_OPENING_QUOTE: "a quote is inside a field without quotes: put the field in quotes",
    CSV_MAX_RECORD_SIZE: `a line has more than ${LARGEST_LINE_BYTES} bytes`,
  };
  return [
    typeof line === "number" ? `${file}:${line}` : file,
    reasons[thrown.code] ?? `is not valid CSV (${thrown.code})`,
  ];
}

function readHeader(titles: readonly string[], file: string) {
  const columns = new Map<Field, number>();
  const labels = new Map<string, number>();
  const ignored: string[] = [];
  const problems: Problem[] = [];
  const refuse = (message: string) => problems.push({ source: `${file}:1`, message });
  for (const [index, title] of titles.entries()) {
    const folded = title.toLowerCase().replace(/[^a-z0-9]/g, "");
    const field = (Object.keys(HEADERS) as Field[]).find((name) => HEADERS[name].includes(folded));
    const label = LABEL_PREFIX.test(title)
      ? title.replace(LABEL_PREFIX, "")
      : LABELS.find((key) => key === folded);
    if (label !== undefined) {
      if (labels.has(label)) refuse(`two columns are the label ${label}`);
      labels.set(label, index);
    } else if (field === undefined) {
      if (title !== "" && !UNUSED.includes(folded)) ignored.push(shortened(title, 40));
    } else if (columns.has(field)) refuse(`two columns are the ${field}`);
    else columns.set(field, index);
  }
  for (const field of ["name", "host"] as const) {
    if (columns.has(field)) continue;
    const label = field === "host" ? "BMC" : "name";
    refuse(`no column is the ${label}: name one ${HEADERS[field].slice(0, 3).join(", ")}`);
  }
  return { columns, labels, ignored, problems };
}

/** Characters that a label cannot have become hyphens: `Rack 12` is `Rack-12`. */
function labelsIn(record: readonly string[], columns: ReadonlyMap<string, number>) {
  const labels = [...columns].flatMap(([key, index]) => {
    const value = (record[index] ?? "").replace(/[^\w.-]+/g, "-").replace(/^[^a-z0-9]+|[^a-z0-9]+$/gi, "");
    return value === "" ? [] : [[key, value] as const];
  });
  return labels.length > 0 ? Object.fromEntries(labels) : undefined;
}

function readEntry(cells: (field: Field) => string | undefined): {
  readonly entry: ImportedMachine["entry"];
  readonly problem?: string;
} {
  const host = cells("host");
  const written = (cells("providers") ?? "").toLowerCase();
  const names = written.split(/[\s,;/+|]+/).filter((name) => name !== "");
  const providers = names.map((name) => PROVIDER_SYNONYMS.get(name.replace(/[^a-z]/g, "")) ?? name);
  const unknown = providers.find((name) => !PROVIDERS.some((known) => known === name));
  if (unknown !== undefined) {
    return {
      entry: { host },
      problem: `the provider is not one of ${PROVIDERS.join(", ")}${suggestion(unknown, PROVIDERS)}`,
    };
  }
  const port = cells("port");
  const entry = { host, providers: providers.length > 0 ? providers : undefined };
  if (port === undefined) return { entry };
  const [provider] = providers;
  if (provider === undefined || providers.length > 1) {
    return { entry, problem: "has a port, which needs exactly one provider" };
  }
  return { entry: { ...entry, [provider]: { port: /^\d+$/.test(port) ? Number(port) : port } } };
}
