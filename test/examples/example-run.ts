import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Document, isMap, isSeq, parseDocument } from "yaml";
import { CommandInProcess } from "../support/command-in-process.ts";
import { commandOf, type ExampleFile } from "./example-files.ts";

/** Where the examples keep what actions write; a test has a folder of its own in its place. */
const STATE_FOLDER = "/var/lib/pbnj";

/** What takes the place of a machine's entries in an inventory, by keys with dots between: `redfish.port`. */
export type MachineEdits = Readonly<Record<string, unknown>>;

export interface ExampleRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a template by the very command on top of it. Its inventory has other hosts, ports and credentials, and the
 * folders of its policy and of its values are in `folder`; all else is as it stands.
 */
export async function runExample(
  file: ExampleFile,
  folder: string,
  machines: Readonly<Record<string, MachineEdits>>,
): Promise<ExampleRun> {
  const { template, values, inventory, policy, others } = commandOf(file);
  const edited = (value: string) => value.replace(STATE_FOLDER, folder);
  const argv = ["run", template, ...others, "--log-level", "warn"];
  // A provider's secrets and a policy's files are what an action gets differently as a process.
  if (!policy && !template.includes("/providers/")) argv.push("--runtime", "in-process");
  for (const [key, value] of Object.entries(values)) argv.push("--map", `${key}=${edited(value)}`);
  argv.push("--inventory", await rewrite(inventory, folder, (document) => editMachines(document, machines)));
  if (policy)
    argv.push("--policy", await rewrite(policy, folder, (document) => moveVolumes(document, edited)));
  await using program = new CommandInProcess(argv);
  const { code } = await program.ended;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

async function rewrite(path: string, folder: string, edit: (document: Document) => void): Promise<string> {
  const document = parseDocument(await readFile(path, "utf8"));
  edit(document);
  const written = join(folder, path.replaceAll("/", "-"));
  await writeFile(written, document.toString());
  return written;
}

function editMachines(document: Document, machines: Readonly<Record<string, MachineEdits>>): void {
  const entries = document.get("machines");
  if (!isSeq(entries)) throw new Error("the inventory has no machines");
  for (const [name, edits] of Object.entries(machines)) {
    const index = entries.items.findIndex((entry) => isMap(entry) && entry.get("name") === name);
    if (index < 0) throw new Error(`the inventory has no machine ${name}`);
    for (const [key, value] of Object.entries(edits)) {
      document.setIn(["machines", index, ...key.split(".")], value);
    }
  }
}

function moveVolumes(document: Document, edited: (path: string) => string): void {
  const volumes = document.get("volumes");
  if (!isSeq(volumes)) throw new Error("the policy has no volumes");
  for (const index of volumes.items.keys()) {
    const path = ["volumes", index, "path"];
    document.setIn(path, edited(String(document.getIn(path))));
  }
}
