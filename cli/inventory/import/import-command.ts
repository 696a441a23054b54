import { chmod, lstat, mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { replaceFile } from "../../../actions/harness/input/replace-file.ts";
import { writeText } from "../../../actions/harness/result/write-text.ts";
import { EXIT_OK, exitCodeOf } from "../../../shared/contract/exit-code.ts";
import { count } from "../../../shared/count.ts";
import { byLine, formatProblem } from "../../../shared/document/problem.ts";
import { makeFolder } from "../../../shared/make-folder.ts";
import { suggestion } from "../../../shared/nearest-name.ts";
import { programLine } from "../../../shared/printable.ts";
import { checkFile, decodeText, fileProblemOf, readTextFile } from "../../../shared/read-text-file.ts";
import { textOf } from "../../../shared/text-of.ts";
import { endWithUsage } from "../../usage-problem.ts";
import { rewriteFile } from "../rewrite-file.ts";
import { type ComposedInventory, composeInventory } from "./compose-inventory.ts";
import { readCsv } from "./csv.ts";
import type { Imported, SecretFile } from "./imported-machine.ts";
import { listIronic } from "./ironic.ts";
import { readMaas } from "./maas.ts";
import { readRufio } from "./rufio.ts";

const OWNER_ONLY = 0o700;

/** Returns those files of the secrets that exist. */
async function existingSecrets(folder: string, secrets: readonly SecretFile[]): Promise<readonly string[]> {
  const existing: string[] = [];
  for (const { machine, file } of secrets) {
    const path = join(folder, machine, file);
    if (await lstat(path).catch(() => undefined)) existing.push(path);
  }
  return existing;
}

/** Writes each secret into the folder of its machine, which only the owner can read. Rejects with a message of one line. */
async function writeSecrets(folder: string, secrets: readonly SecretFile[]): Promise<void> {
  await makeFolder(folder, OWNER_ONLY);
  for (const { machine, file, secret } of secrets) {
    const own = join(folder, machine);
    await mkdir(own, { mode: OWNER_ONLY }).catch(() => undefined);
    // A link could lead to a folder that others can read.
    if (!(await lstat(own)).isDirectory()) throw new Error(`${own} is not a folder`);
    await chmod(own, OWNER_ONLY);
    const path = join(own, file);
    const problem = await replaceFile(path, `${secret.reveal()}\n`);
    if (problem !== undefined) throw new Error(`cannot write ${path}: ${problem}`);
  }
}

const COMMAND = "pbnj-worker inventory import";
const IRONIC = "ironic";
const STDOUT = "-";
/** Where the inventory expects secrets if none are imported. */
const DEFAULT_SECRETS = "secrets";

export interface ImportFlags {
  readonly from?: string;
  readonly format: string;
  readonly output: string;
  readonly secrets?: string;
  readonly force?: true;
}

const READERS: Readonly<Record<Format, (text: string, file: string) => Imported>> = {
  csv: readCsv,
  maas: readMaas,
  rufio: readRufio,
};

/** Writes an inventory from another format. Resolves to the exit code, or ends the process if the command line is wrong. */
export async function importInventory(
  path: string | undefined,
  flags: ImportFlags,
  unknown: readonly string[],
): Promise<number> {
  const { output, secrets: folder, force = false } = flags;
  const problems = [...unknown, ...formatProblems(flags), ...sourceProblems(path, flags)];
  if (path === "") problems.push("the name of the file is empty");
  if (problems.length > 0) endWithUsage(COMMAND, problems);
  const name = path === undefined ? IRONIC : path === "-" ? "stdin" : basename(path);
  let imported: Imported;
  try {
    imported =
      path === undefined
        ? await listIronic(process.env, secretsPath(flags))
        : readDocument(await readSource(path), name, flags);
  } catch (thrown) {
    complain(`${path === "-" ? name : path} ${fileProblemOf(thrown)}`);
    return exitCodeOf("usage");
  }

  for (const skipped of imported.skipped) complain(`skipped ${formatProblem(skipped)}`);
  for (const note of imported.notes) complain(note);
  const composed = composeInventory(imported, secretsPath(flags));
  const wrong = [...imported.problems, ...(composed.ok ? [] : composed.problems)];
  if (wrong.length === 0 && imported.machines.length === 0) {
    wrong.push({ source: name, message: "has no machine that can be imported" });
  }
  for (const problem of byLine(wrong)) complain(formatProblem(problem));
  if (wrong.length > 0 || !composed.ok) return exitCodeOf("usage");

  try {
    await write(composed.value, { output, folder, force });
  } catch (thrown) {
    complain(textOf(thrown));
    return exitCodeOf("usage");
  }
  reportSecrets(composed.value, folder);
  complain(`imported ${count(imported.machines.length, "machine")}, skipped ${imported.skipped.length}`);
  return EXIT_OK;
}

function readDocument(text: string, name: string, flags: ImportFlags): Imported {
  const format = FORMATS.find((known) => known === flags.format) ?? detectFormat(text);
  return READERS[format](text, name);
}

interface Target {
  readonly output: string;
  readonly folder: string | undefined;
  readonly force: boolean;
}

/** Checks everything before writing anything. Rejects with a message of one line. */
async function write({ text, secrets }: ComposedInventory, { output, folder, force }: Target): Promise<void> {
  const exists = output !== STDOUT && (await lstat(output).catch(() => undefined)) !== undefined;
  const existing = [
    ...(exists ? [output] : []),
    ...(folder === undefined ? [] : await existingSecrets(folder, secrets)),
  ];
  if (existing.length > 0 && !force) {
    const [first] = existing;
    const more = existing.length > 1 ? ` and ${count(existing.length - 1, "more file")}` : "";
    throw new Error(`${first}${more} would be overwritten: pass --force to do that`);
  }
  if (folder !== undefined && secrets.length > 0) await writeSecrets(folder, secrets);
  if (output === STDOUT) await writeText(process.stdout, text);
  else if (exists) await replace(output, text);
  else await writeFile(output, text, { flag: "wx" });
}

async function replace(path: string, text: string): Promise<void> {
  const problem = await rewriteFile(path, readTextFile(path), text, new AbortController().signal);
  if (problem !== undefined) throw new Error(`cannot write ${path}: ${problem}`);
}

/**
 * Returns the path of the secrets in the inventory: relative to the inventory's folder, or absolute if that folder is not
 * known.
 */
function secretsPath({ output, secrets }: ImportFlags): string {
  if (secrets === undefined) return DEFAULT_SECRETS;
  return output === STDOUT ? resolve(secrets) : relative(dirname(resolve(output)), resolve(secrets)) || ".";
}

function reportSecrets({ secrets, withoutCredentials }: ComposedInventory, folder: string | undefined): void {
  if (folder === undefined && secrets.length > 0) {
    complain(
      `left out ${count(secrets.length, "secret")}: pass --secrets <folder> to write them to files, or create ` +
        `${[...new Set(secrets.map(({ machine, file }) => `${DEFAULT_SECRETS}/${secrets.length > 1 ? "<machine>" : machine}/${file}`))].join(" and ")}`,
    );
  }
  if (withoutCredentials > 0) {
    complain(`${count(withoutCredentials, "machine")} without credentials: add them to the inventory`);
  }
}

function sourceProblems(path: string | undefined, { from }: ImportFlags): readonly string[] {
  if (from === undefined) return path === undefined ? ["<file> is missing: the file to read"] : [];
  if (from !== IRONIC) return [`--from is not ${IRONIC}: name a file without it`];
  return path === undefined ? [] : [`--from ${IRONIC} reads no file`];
}

function formatProblems({ format }: ImportFlags): readonly string[] {
  const formats = ["auto", ...FORMATS];
  if (formats.includes(format)) return [];
  return [`--format is not one of ${formats.join(", ")}${suggestion(format, formats)}`];
}

function complain(message: string): void {
  process.stderr.write(programLine(COMMAND, message));
}

const FORMATS = ["csv", "maas", "rufio"] as const;
type Format = (typeof FORMATS)[number];

const KUBERNETES = /(?:^|[{,])\s*"?apiVersion"?\s*:/m;

/** Guesses the format from the text: Kubernetes objects are YAML or JSON with an `apiVersion`, and MAAS prints JSON. */
function detectFormat(text: string): Format {
  if (KUBERNETES.test(text)) return "rufio";
  return /^\s*[[{]/.test(text) ? "maas" : "csv";
}

/** Reads a file or, for `-`, stdin, both up to the same size. Rejects with a `FileProblem` or a system error. */
async function readSource(path: string): Promise<string> {
  if (path !== "-") return readTextFile(path);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    chunks.push(Buffer.from(chunk));
    size += chunk.length;
    checkFile({ isFile: () => true, size });
  }
  return decodeText(Buffer.concat(chunks));
}
