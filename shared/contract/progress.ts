import { defined } from "../defined.ts";
import { elapsedText } from "../duration.ts";
import type { LogFields } from "../logger.ts";

/**
 * The current step of an action. The action reports it in a log line with JSON on stdout or stderr: `progress: true`, the
 * text as message, and `limitMs` if there is a time limit. It applies until the next such line.
 */
export interface Progress {
  /** Such as `waiting for power on`. */
  readonly text: string;
  /** The time limit, counted from this line. */
  readonly limitMs?: number;
}

/** The fields of such a line. */
export function progressFields(limitMs?: number): LogFields {
  return { progress: true, ...defined({ limitMs: limitMs === undefined ? undefined : Math.round(limitMs) }) };
}

/** Reads progress from a line's message and fields; undefined for any other line. */
export function progressOf(text: string, { progress, limitMs }: LogFields): Progress | undefined {
  if (progress !== true || text === "") return undefined;
  const isLimit = typeof limitMs === "number" && limitMs > 0 && Number.isSafeInteger(limitMs);
  return { text, ...(isLimit && { limitMs }) };
}

/** Describes progress for people, such as `waiting for power on, 23 s of 1m 00s`. */
export function progressText({ text, limitMs }: Progress, elapsedMs: number): string {
  return `${text}, ${elapsedText(elapsedMs)}${limitMs === undefined ? "" : ` of ${elapsedText(limitMs)}`}`;
}
