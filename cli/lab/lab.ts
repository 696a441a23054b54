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
  /** Default 3. */
  readonly machines?: number;
  /** Whether some machines are faulty. */
  readonly faults?: boolean;
  /** Recordings and mockup folders: the lab has these machines and no other. */
  readonly recordings?: readonly string[];
  /** So many times as fast as they were recorded; default 1. */
  readonly speed?: number;
  /** The address to listen on; loopback when absent. */
  readonly host?: string;
  /** The first machine's port, the next one's is the next; 0, the default, takes free ones. */
  readonly port?: number;
  /** Keeps the files. When absent they are in a temporary folder, which `close` removes. */
  readonly directory?: string;
  /** Real hardware takes time; a test need not. */
  readonly times?: MachineTimes;
}

/** Slow enough to be watched, fast enough for a demonstration. */
const TIMES = { powerOnMs: 1_500, powerOffMs: 800, softOffMs: 1_200 };
const USERNAME = "admin";
const HEADER = "# Written by pbnj-worker lab at every start.\n";
const MOST_RACKS = 8;
const WILDCARDS: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** Rejects with one line if the folder has an inventory that no lab wrote, or if a port is in use. */
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
    const { recordings, speed = 1 } = options;
    const names = recordedNames(recordings ?? []);
    for (let index = 0; index < (recordings?.length ?? count); index += 1) {
      const own = { host, port: port === 0 ? 0 : port + index, ...login, times };
      const file = recordings?.[index];
      machines.push(
        await (file === undefined
          ? startMachine({ ...own, index, faults })
          : startRecordedMachine({ ...own, file, name: names[index] ?? file, speed })),
      );
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

/** Unique names that an inventory accepts, made from file names. */
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

/** The password in the file: that of the last start, or the user's own. */
async function keptPassword(file: string): Promise<string> {
  const kept = (await readFile(file, "utf8").catch(() => "")).trim();
  if (kept !== "") return kept;
  // IPMI takes 20 bytes at most.
  const password = randomBytes(9).toString("base64url");
  await write(file, `${password}\n`);
  return password;
}

async function write(file: string, content: string): Promise<void> {
  const problem = await replaceFile(file, content);
  if (problem !== undefined) throw new Error(`cannot write ${file}: ${problem}`);
}
