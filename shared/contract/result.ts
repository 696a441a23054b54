import * as z from "zod/mini";
import { isTooDeep } from "../json-depth.ts";
import { printable, shortened } from "../printable.ts";
import { AuthRefusal, ErrorClass } from "./error-class.ts";
import { SessionProvider } from "./vocabulary.ts";

/** The maximum length of a `message` that an action writes and a worker forwards, in characters. */
export const MESSAGE_LIMIT = 1_000;

/**
 * The variable with which a worker names a file for the result of an action that runs as a process. A restarted worker reads
 * the result there.
 */
export const WORKER_RESULT_FILE = "PBNJ_ACTION_RESULT_FILE";

/**
 * The result of an action: one JSON object on the last line of stdout (unless a terminal or a flag requests another format),
 * in `RESULT_FILE` if that is set, and in `/dev/termination-log` if a kubelet mounted it.
 */
export const ActionResult = z.object({
  action: z.string(),
  machine: z.optional(z.string()),
  ok: z.boolean(),
  /** Why it failed; absent on success. */
  class: z.optional(ErrorClass),
  /** What was refused, with class `auth`. */
  refused: z.optional(AuthRefusal),
  /** One line for people, such as `off after 6.2 s (graceful) via redfish`. */
  message: z.string(),
  provider: z.optional(SessionProvider),
  /** The machine's state (power or boot override) before and after. */
  before: z.optional(z.unknown()),
  after: z.optional(z.unknown()),
  /** Whether anything was sent that changes the machine. */
  changed: z.optional(z.boolean()),
  durationMs: z.number(),
  /** The number of requests or packets to the BMC that waited for an answer. */
  roundTrips: z.number(),
  /** The data that the action read, if it reads any. */
  data: z.optional(z.unknown()),
  /** What was learned about the BMC, for the next call's connection. */
  hint: z.optional(z.unknown()),
});
export type ActionResult = z.infer<typeof ActionResult>;

/** Parses a line of stdout as a result; undefined for any other line. */
export function parseResultLine(line: string): ActionResult | undefined {
  if (!line.startsWith("{")) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const parsed = ActionResult.safeParse(value);
  return parsed.success && !isTooDeep(parsed.data) ? parsed.data : undefined;
}

/** Folds any text into one printable line. */
export function foldLine(text: string): string {
  return printable(text.replace(/[\p{Cc}\s]+/gu, " ").trim());
}

/** Folds any text into one printable line of at most `MESSAGE_LIMIT` characters. */
export function oneLine(text: string): string {
  return shortened(foldLine(text), MESSAGE_LIMIT);
}
