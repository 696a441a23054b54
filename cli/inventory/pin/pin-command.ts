import { basename } from "node:path";
import { writeText } from "../../../actions/harness/result/write-text.ts";
import { confirm } from "../../../shared/confirm.ts";
import { EXIT_OK, exitCodeOf } from "../../../shared/contract/exit-code.ts";
import { count } from "../../../shared/count.ts";
import { DATA_FORMATS, formatData, isDataFormat } from "../../../shared/data-format.ts";
import { defined } from "../../../shared/defined.ts";
import { formatProblem } from "../../../shared/document/problem.ts";
import { parseDurationMs } from "../../../shared/duration.ts";
import { suggestion } from "../../../shared/nearest-name.ts";
import { printableLine, programLine } from "../../../shared/printable.ts";
import { readTextFile } from "../../../shared/read-text-file.ts";
import { formatTable } from "../../../shared/table.ts";
import type { MachineEntry } from "../../../worker/machines/inventory-schema.ts";
import { parseEntries } from "../../../worker/machines/parse-inventory.ts";
import { isAmong } from "../../../worker/policy/wildcard.ts";
import {
  concurrencyProblems,
  countedPauses,
  inventoryText,
  isNarrowed,
  type MachineChoice,
  matching,
  unknownMachineProblems,
} from "../../machines/select-machines.ts";
import { listenForStop } from "../../stop-signal.ts";
import { endWithUsage } from "../../usage-problem.ts";
import { rewriteFile } from "../rewrite-file.ts";
import { EditError, editFingerprints } from "./edit-fingerprints.ts";
import { type CertificateResult, type Comparison, surveyCertificates } from "./survey.ts";

const COMMAND = "pbnj-worker inventory pin";
const OUTPUTS = ["table", ...DATA_FORMATS];
const SHORTEST_TIMEOUT_MS = 100;
const LONGEST_TIMEOUT_MS = 600_000;

export interface PinFlags extends MachineChoice {
  readonly inventory?: string;
  readonly replace?: readonly string[];
  readonly yes?: true;
  readonly concurrency: string;
  readonly timeout?: string;
  readonly output: string;
}

interface Chosen {
  readonly path: string;
  /** The content of the file when it was read. */
  readonly text: string;
  readonly entries: readonly MachineEntry[];
}

type Seen = Extract<CertificateResult, { kind: "seen" }>;

/** Shows certificates and records fingerprints. Resolves to the exit code, or ends the process if the command line is wrong. */
export async function pin(flags: PinFlags, unknown: readonly string[]): Promise<number> {
  const problems = [...unknown, ...concurrencyProblems(flags.concurrency), ...timeoutProblems(flags)];
  if (!OUTPUTS.includes(flags.output)) {
    problems.push(`--output is not one of ${OUTPUTS.join(", ")}${suggestion(flags.output, OUTPUTS)}`);
  }
  const chosen = choose(flags, problems);
  if (!chosen || problems.length > 0) endWithUsage(COMMAND, problems);

  const stop = listenForStop();
  try {
    return await pinChosen(chosen, flags, stop.signal);
  } catch (thrown) {
    if (!stop.signal.aborted) throw thrown;
    complain("cancelled, nothing was recorded");
    return exitCodeOf("cancelled", stop.by());
  }
}

async function pinChosen(chosen: Chosen, flags: PinFlags, signal: AbortSignal): Promise<number> {
  const options = {
    concurrency: Number(flags.concurrency),
    timeoutMs: flags.timeout === undefined ? undefined : parseDurationMs(flags.timeout),
  };
  const results = await surveyCertificates(chosen.entries, options, signal);
  if (isDataFormat(flags.output)) {
    await writeText(process.stdout, await formatData(flags.output, results.map(surveyEntry)));
  } else if (results.length > 0) await writeText(process.stdout, `${surveyTable(results)}\n`);
  if (results.length === 0)
    complain(
      "every machine has a fingerprint or a CA: name machines with --machine or --selector, or use --all",
    );
  const { machine = [], replace = [] } = flags;
  const counted = countedPauses(
    chosen.entries.map(({ name, paused }) => ({ name, paused: paused !== undefined })),
    [...machine, ...replace],
  );
  const codes = results.map((result) => {
    if (result.kind === "failed") return exitCodeOf(result.error.class);
    return result.kind === "paused" && counted.has(result.entry.name) ? exitCodeOf("state") : EXIT_OK;
  });

  const seen = results.filter((result): result is Seen => result.kind === "seen");
  const isReplaced = ({ comparison, entry }: Seen) =>
    comparison === "changed" && isAmong(entry.name, flags.replace ?? []);
  const recorded = seen.filter((result) => result.comparison === "new" || isReplaced(result));
  const refused = seen.filter((result) => result.comparison === "changed" && !isReplaced(result));
  if (refused.length > 0) {
    const names = refused.map(({ entry }) => entry.name).join(",");
    complain(
      "another certificate than before may be an attacker's; compare its fingerprint with the BMC's own, " +
        `then pass --replace ${names}`,
    );
    codes.push(exitCodeOf("tls"));
  }
  if (recorded.length > 0) codes.push(await record(chosen, recorded, flags, signal));
  return Math.max(EXIT_OK, ...codes);
}

async function record(
  { path, text }: Chosen,
  recorded: readonly Seen[],
  flags: PinFlags,
  signal: AbortSignal,
): Promise<number> {
  const what = count(recorded.length, "fingerprint");
  if (!flags.yes) {
    if (!process.stdin.isTTY) {
      complain(`nothing was recorded: pass --yes to record ${what}`);
      return exitCodeOf("usage");
    }
    if (!(await confirm(`Record ${what} in ${printableLine(basename(path))}?`, signal))) return EXIT_OK;
  }
  const pins = recorded.map(({ entry: { name, tls }, certificate: { fingerprint } }) => {
    return { machine: name, fingerprint, verifies: tls.verify };
  });
  const problem = await rewrite(path, text, pins, signal);
  complain(problem === undefined ? `recorded ${what} in ${path}` : `cannot write ${path}: ${problem}`);
  return problem === undefined ? EXIT_OK : exitCodeOf("usage");
}

async function rewrite(
  path: string,
  text: string,
  pins: Parameters<typeof editFingerprints>[1],
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return await rewriteFile(path, text, editFingerprints(text, pins), signal);
  } catch (thrown) {
    if (thrown instanceof EditError) return thrown.message;
    throw thrown;
  }
}

function timeoutProblems({ timeout }: PinFlags): readonly string[] {
  if (timeout === undefined) return [];
  const ms = parseDurationMs(timeout) ?? 0;
  if (ms >= SHORTEST_TIMEOUT_MS && ms <= LONGEST_TIMEOUT_MS) return [];
  return ["--timeout is not a duration from 100ms to 10m, such as 5s"];
}

/** Returns the selected machines and the file. Adds what is wrong with the selection to `problems`. */
function choose(flags: PinFlags, problems: string[]): Chosen | undefined {
  const { inventory: path = "", replace = [] } = flags;
  const text = inventoryText(path, problems);
  if (text === undefined) return undefined;
  const parsed = parseEntries({ path, text, env: process.env, readFile: readTextFile });
  if (!parsed.ok) {
    problems.push(...parsed.problems.map(formatProblem));
    return undefined;
  }
  const entries = parsed.value;
  const chosen = new Set(matching(entries, flags, path, problems));
  problems.push(...unknownMachineProblems("--replace", replace, entries, path));
  const isNamed = isNarrowed(flags) || replace.length > 0;
  const isChosen = (entry: MachineEntry) => {
    if (chosen.has(entry) || isAmong(entry.name, replace)) return true;
    return !isNamed && (entry.tls.fingerprint ?? entry.tls.caFile) === undefined;
  };
  return { path, text, entries: entries.filter(isChosen) };
}

function complain(message: string): void {
  process.stderr.write(programLine(COMMAND, message));
}

const STATES: Readonly<Record<Comparison, string>> = {
  new: "new",
  pinned: "pinned",
  changed: "CHANGED",
  trusted: "trusted",
};
const HEAD = ["machine", "address", "state", "subject", "issuer", "valid", "fingerprint (SHA-256)"];

/** Formats one row per machine. The last column is never cut, because people compare fingerprints. */
function surveyTable(results: readonly CertificateResult[]): string {
  return formatTable(HEAD, results.map(rowOf));
}

/** A result for programs. */
function surveyEntry(result: CertificateResult) {
  const { name: machine, tls } = result.entry;
  if (result.kind === "skipped") return { machine, state: "skipped" };
  if (result.kind === "paused") return { machine, state: "paused", reason: result.reason };
  const { address } = result;
  if (result.kind === "failed") {
    const { class: errorClass, message } = result.error;
    return { machine, address, state: "failed", class: errorClass, message };
  }
  const { comparison: state, certificate } = result;
  const { subject, issuer, from, until, term, fingerprint } = certificate;
  const pinned = defined({ pinned: tls.fingerprint });
  return { machine, address, state, subject, issuer, from, until, term, fingerprint, ...pinned };
}

function rowOf(result: CertificateResult): readonly string[] {
  const { name, tls } = result.entry;
  if (result.kind === "skipped") return [name, "", "skipped", "", "", "", "uses no TLS"];
  if (result.kind === "paused") return [name, "", "paused", "", "", "", result.reason];
  if (result.kind === "failed") return [name, result.address, "failed", "", "", "", result.error.message];
  const { address, comparison, certificate } = result;
  const { subject, issuer, from, until, term, fingerprint } = certificate;
  const valid = `${from} to ${until}${term === "expired" ? " (expired)" : ""}`;
  const other =
    tls.fingerprint === undefined ? "not issued by caFile" : `the inventory has ${tls.fingerprint}`;
  const remark = comparison === "changed" ? `, ${other}` : "";
  return [name, address, STATES[comparison], subject, issuer, valid, `${fingerprint}${remark}`];
}
