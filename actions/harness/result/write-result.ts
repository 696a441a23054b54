import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { GivenValue } from "../../../shared/contract/given.ts";
import { type ActionResult, oneLine, WORKER_RESULT_FILE } from "../../../shared/contract/result.ts";
import { formatData } from "../../../shared/data-format.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import { printable } from "../../../shared/printable.ts";
import type { Environment } from "../../../shared/tracing/variables.ts";
import { replaceFile } from "../input/replace-file.ts";
import { type Output, writeText } from "./write-text.ts";

/** The file in which a kubelet looks for the termination message. */
const TERMINATION_LOG = "/dev/termination-log";
/** The size to which a kubelet cuts the message. What is left of a longer one is not JSON. */
const TERMINATION_LOG_BYTES = 4_096;

export interface ResultTargets {
  readonly env: Environment;
  readonly stdout: Output;
  readonly stderr: Output;
  /** The value of `OUTPUT`. */
  readonly format: "auto" | "text" | "table" | "json" | "yaml";
  /** Whether a flag set the format. Then nothing else is written for a worker. */
  readonly alone: boolean;
  readonly table: string | undefined;
  /** The sentence about the result; undefined if it was already printed. */
  readonly sentence: string | undefined;
  readonly resultFile: GivenValue | undefined;
}

/**
 * Writes the result to all its destinations, with stdout last. If stdout is not a terminal, its last line is the result as
 * JSON, unless a flag set another format. Returns why the file could not be written.
 */
export async function writeResult(result: ActionResult, targets: ResultTargets): Promise<string | undefined> {
  const { env, stdout, stderr, resultFile } = targets;
  const line = resultLine(result);
  const problem = resultFile === undefined ? undefined : await replaceFile(resultFile.text, line);
  const workerFile = env[WORKER_RESULT_FILE];
  // For a worker that restarts; a running worker reads stdout.
  if (workerFile) await replaceFile(workerFile, line);
  if (existsSync(TERMINATION_LOG)) {
    await writeFile(TERMINATION_LOG, terminationLine(result)).catch(() => undefined);
  }
  const { text, said } = await shownResult(result, line, targets);
  if (text !== "") await writeText(stdout, text);
  if (said !== undefined) await writeText(stderr, `${said}\n`);
  return problem && `${resultFile?.from} ${resultFile?.text} cannot be written: ${problem}`;
}

/** Returns what goes to stdout, and the sentence if it goes to stderr. */
async function shownResult(
  result: ActionResult,
  line: string,
  { stdout, stderr, format, alone, table, sentence }: ResultTargets,
): Promise<{ readonly text: string; readonly said?: string | undefined }> {
  const onTerminal = stdout.isTTY === true;
  const said = onTerminal || !stderr.isTTY ? undefined : sentence;
  if (format === "json" || (format === "auto" && !onTerminal)) return { text: line, said };
  if (format === "yaml") {
    const text = await formatData("yaml", result);
    return { text: alone || onTerminal ? text : `${text}\n${line}`, said };
  }
  const shown = format === "text" ? undefined : table;
  if (!alone && !onTerminal) {
    const first = format === "text" ? sentence : table;
    return { text: first === undefined ? line : `${first}\n\n${line}`, said };
  }
  if (!result.ok) return { text: shown === undefined ? "" : `${shown}\n`, said: sentence };
  const parts = [shown, sentence].filter((part) => part !== undefined);
  return { text: parts.length === 0 ? "" : `${parts.join("\n\n")}\n` };
}

/** Returns a sentence for people: `node-01: on (redfish, 0.3 s)`. */
export function sentenceOf(result: ActionResult, host: string | undefined): string {
  const { action, class: errorClass, durationMs, machine, message, ok, provider } = result;
  const subject = machine ?? host ?? action;
  if (!ok) return `${subject}: ${action} failed (${errorClass}): ${message}`;
  const facts = [...(provider ? [provider] : []), formatSeconds(durationMs)];
  return `${subject}: ${messageOf(result)} (${facts.join(", ")})`;
}

/** Returns the message without the provider, for use where the provider is shown separately. */
export function messageOf({ message, provider }: ActionResult): string {
  const via = ` via ${provider}`;
  return message.endsWith(via) ? message.slice(0, -via.length) : message;
}

/**
 * Formats the result as one line. Escapes more than JSON requires, because terminals obey some characters and some readers
 * split lines at them.
 */
export function resultLine(result: ActionResult): string {
  return `${printable(JSON.stringify(result))}\n`;
}

/** Formats the result, without data and hint if a kubelet would cut it. */
export function terminationLine(result: ActionResult): string {
  const line = resultLine(result);
  if (Buffer.byteLength(line) <= TERMINATION_LOG_BYTES) return line;
  const { data: _, hint: __, ...rest } = result;
  return resultLine(rest);
}

/** Makes the result of an action that failed before it reached its BMC. */
export function failedResult(name: string, error: BmcError): ActionResult {
  return {
    action: name,
    ok: false,
    class: error.class,
    message: oneLine(error.message),
    durationMs: 0,
    roundTrips: 0,
  };
}
