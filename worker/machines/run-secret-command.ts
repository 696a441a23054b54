import { type Exit, StartError } from "../../shared/child-process/child-process.ts";
import { OUTPUT_LIMIT_BYTES, type ProgramEnd, runProgram } from "../../shared/child-process/run-program.ts";
import { oneLine } from "../../shared/contract/result.ts";
import { formatSeconds } from "../../shared/duration.ts";
import { LineSplitter } from "../../shared/line-splitter.ts";
import { decodeText, FileProblem, fileProblemOf } from "../../shared/read-text-file.ts";
import { formsOf } from "../../shared/secret-forms.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SecretCommand {
  /** The program and its arguments. It runs without a shell. */
  readonly argv: readonly [program: string, ...rest: readonly string[]];
  readonly timeoutMs: number;
  /** Variables of the worker that the program gets in addition to the usual ones. */
  readonly environment: readonly string[];
}

/**
 * Variables with which programs find other programs, certificates and their language. None of them is a secret of the
 * worker.
 */
const USUAL = ["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR"];

const LONGEST_LINE = 1_000;
/** Time for a client to log out of its vault. */
const GRACE_MS = 1_000;

/**
 * Runs the command and resolves to its stdout, which is never logged and never part of an error. Rejects with a
 * `FileProblem` whose message follows the command's name, or with the signal's reason. The command's process group has then
 * ended. See `RunProgramOptions.onStarted`.
 */
export async function runSecretCommand(
  { argv, timeoutMs, environment }: SecretCommand,
  env: Environment,
  signal: AbortSignal,
  onStarted: (groupId: number) => () => void,
): Promise<string> {
  const [program, ...rest] = argv;
  const passed = Object.fromEntries([...USUAL, ...environment].map((name) => [name, env[name]]));
  let errorLine = "";
  const stderr = new LineSplitter(LONGEST_LINE, (line) => {
    if (line.trim() !== "") errorLine = line;
  });
  const { kind, exit, stdout } = await runProgram(
    {
      program,
      argv: rest,
      environment: passed,
      timeoutMs,
      graceMs: GRACE_MS,
      onStderr: (chunk) => stderr.push(chunk),
      onStarted,
    },
    signal,
  ).catch((thrown) => {
    throw thrown instanceof StartError ? new FileProblem(startProblem(thrown)) : thrown;
  });
  if (exit?.exitCode === 0) return decodeOutput(stdout);
  stderr.end();
  const given = environment.flatMap((name) => passed[name] ?? []);
  const reason = lastErrorLine(errorLine, stdout.toString("utf8"), given);
  const problem = problemOf(kind, exit, timeoutMs);
  throw new FileProblem(`${problem}${reason && `: ${reason}`}`);
}

function problemOf(kind: ProgramEnd["kind"], exit: Exit | undefined, timeoutMs: number): string {
  if (kind === "timeout") return `timed out after ${formatSeconds(timeoutMs)}`;
  if (kind === "too-much-output") return `printed more than ${OUTPUT_LIMIT_BYTES / 1_024} KiB`;
  return exit?.signal ? `was killed by ${exit.signal}` : `failed with exit code ${exit?.exitCode}`;
}

function startProblem({ code, cause }: StartError): string {
  return code === "EACCES" ? "may not be run by this user" : fileProblemOf(cause);
}

function decodeOutput(bytes: Buffer): string {
  try {
    return decodeText(bytes);
  } catch {
    throw new FileProblem("printed what is not UTF-8 text");
  }
}

const WITHHELD = "its last output is withheld because it contains a secret";
/** The keys in the output of commands. */
const KEYS = new Set(["username", "password", "kg", "secrets"]);
/** Assignments in shell traces and headers in client logs, which are probably followed by a secret. */
const TELLTALE =
  /(pass(word|wd|phrase)?|secret|token|credential|api[-_]?key|\bkg)["']?\s*(=\s*\S|:\s*\S+\s*$)|authorization["']?\s*:|\bbearer\s+\S{8}/i;
/** Shorter values are flags and names. Addresses are not secret either. */
const SHORTEST = 8;
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\/[^@]*$/i;

/**
 * The last line of a command's stderr, as the reason of its failure. It is withheld if it looks like a secret, or contains
 * text from stdout or from the given variables in any form.
 */
export function lastErrorLine(line: string, stdout: string, given: readonly string[]): string {
  const said = oneLine(line);
  const secrets = given.filter((value) => value.length >= SHORTEST && !ADDRESS.test(value));
  const forms = [...secrets, ...printedIn(stdout)].flatMap(formsOf);
  return TELLTALE.test(said) || forms.some((form) => line.includes(form)) ? WITHHELD : said;
}

/** Parts of the output that may be secrets, even if it is incomplete or not JSON. */
function printedIn(stdout: string): readonly string[] {
  try {
    return leavesOf(JSON.parse(stdout));
  } catch {
    return stdout.split(/[\s"'{}[\],:=]+/).filter((word) => word !== "" && !KEYS.has(word));
  }
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return value === "" ? [] : [String(value)];
  return Object.values(value).flatMap(leavesOf);
}
