import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { stringify } from "yaml";
import { replaceFile } from "../../actions/harness/input/replace-file.ts";
import { makeFolder } from "../../shared/make-folder.ts";
import { readKeptCertificates } from "./kept-certificates.ts";
import { type LabMachine, type MachineTimes, startMachine, startRecordedMachine } from "./machines.ts";

/** Simulated machines with an inventory that a worker can read. */
export interface Lab {
  readonly machines: readonly LabMachine[];
  readonly directory: string;
  readonly inventoryFile: string;
  close(): Promise<void>;
}

export interface LabOptions {
  /** The number of machines. Defaults to 3. */
  readonly machines?: number;
  /** Whether some of the machines are faulty. */
  readonly faults?: boolean;
  /** Recordings and mockup folders. If given, the lab has only these machines. */
  readonly recordings?: readonly string[];
  /** The factor by which recorded machines answer faster than they were recorded. Defaults to 1. */
  readonly speed?: number;
  /** The address to listen on. Defaults to loopback. */
  readonly host?: string;
  /** The port of the first machine; each further machine has the next port. Defaults to 0, which takes free ports. */
  readonly port?: number;
  /** The folder for the files. Defaults to a temporary folder, which `close` removes. */
  readonly directory?: string;
  /** Called when another machine listens. */
  readonly onStarted?: (started: number, of: number) => void;
  /** How long the machines take. Real hardware takes time, but tests need not. */
  readonly times?: MachineTimes;
}

/** Times that are slow enough to watch and fast enough for a demonstration. */
const TIMES = { powerOnMs: 1_500, powerOffMs: 800, softOffMs: 1_200 };
const USERNAME = "admin";
const HEADER = "# Written by pbnj-worker lab at every start.\n";
const MOST_RACKS = 8;
const WILDCARDS: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/**
 * Starts a lab. Rejects with a message of one line if the folder has an inventory that no lab wrote, or if a port is in use.
 */
export async function startLab(options: LabOptions = {}): Promise<Lab> {
  const { machines: count = 3, faults = false, host = "127.0.0.1", port = 0, times = TIMES } = options;
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "pbnj-worker-lab-")));
  const inventoryFile = join(directory, "inventory.yaml");
  const machines: LabMachine[] = [];
  const close = async () => {
    await Promise.all(machines.map((machine) => machine.close()));
    if (options.directory === undefined) await rm(directory, { recursive: true, force: true });
  };
  try {
    await makeFolder(directory);
    const present = await readFile(inventoryFile, "utf8").catch(() => undefined);
    if (present !== undefined && !present.startsWith(HEADER)) {
      throw new Error(`${inventoryFile} was not written by a lab: choose another --directory`);
    }
    const password = await keptPassword(join(directory, "bmc-password"));
    const certificatesFile = join(directory, "certificates.json");
    const certificates = await readKeptCertificates(certificatesFile);
    const login = { username: USERNAME, password, certificateFor: certificates.of };
    const { recordings, speed = 1, onStarted } = options;
    const names = recordedNames(recordings ?? []);
    for (let index = 0; index < (recordings?.length ?? count); index += 1) {
      const own = { host, port: port === 0 ? 0 : port + index, ...login, times };
      const file = recordings?.[index];
      machines.push(
        await (file === undefined
          ? startMachine({ ...own, index, faults })
          : startRecordedMachine({ ...own, file, name: names[index] ?? file, speed })),
      );
      onStarted?.(machines.length, recordings?.length ?? count);
      // Lets the progress be drawn.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await write(certificatesFile, certificates.text());
    const reached = WILDCARDS[host] ?? host;
    const perRack = Math.max(2, Math.ceil(machines.length / MOST_RACKS));
    const inventory = {
      defaults: { credentials: { username: USERNAME, passwordFile: "bmc-password" } },
      machines: machines.map(({ machine: { name }, entry }, index) => ({
        ...{ name, host: reached, labels: { rack: `r${1 + Math.floor(index / perRack)}` } },
        ...entry,
      })),
    };
    await write(inventoryFile, HEADER + stringify(inventory));
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return { machines, directory, inventoryFile, close };
}

/** Makes unique names that an inventory accepts from file names. */
function recordedNames(files: readonly string[]): readonly string[] {
  const names = files.map((file) => {
    const base = basename(file).replace(/(\.recording)?(\.json)?(\.gz)?$|\.mockup$/g, "");
    const name = base
      .toLowerCase()
      .replace(/[^a-z0-9-]+/g, "-")
      .replace(/^-+|-+$/g, "");
    return name.slice(0, 40).replace(/-+$/, "") || "machine";
  });
  return names.map((name, index) => (names.indexOf(name) === index ? name : `${name}-${index + 1}`));
}

/** Returns the password in the file, which is from the last start or the user. */
async function keptPassword(file: string): Promise<string> {
  const kept = (await readFile(file, "utf8").catch(() => "")).trim();
  if (kept !== "") return kept;
  // IPMI accepts at most 20 bytes.
  const password = randomBytes(9).toString("base64url");
  await write(file, `${password}\n`);
  return password;
}

async function write(file: string, content: string): Promise<void> {
  const problem = await replaceFile(file, content);
  if (problem !== undefined) throw new Error(`cannot write ${file}: ${problem}`);
}
