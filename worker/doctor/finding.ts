import type { ErrorClass } from "../../shared/contract/error-class.ts";
import { oneLine } from "../../shared/contract/result.ts";
import { defined } from "../../shared/defined.ts";
import { CAUSES, type CauseName, type CheckName } from "./causes.ts";

/** The worst first. */
export const FINDING_STATES = ["problem", "warning", "skipped", "ok"] as const;
export type FindingState = (typeof FINDING_STATES)[number];

/** What a look at one thing came to. */
export interface Finding {
  readonly check: CheckName;
  readonly state: FindingState;
  /** What it is about where a check looks at several: a machine, a line of a file. */
  readonly subject?: string;
  /** One line for people. */
  readonly detail: string;
  /** Of a problem or a warning: what it is, how to mend it, and what an action or `start` would fail with. */
  readonly cause?: CauseName;
  readonly remedy?: string;
  readonly class?: ErrorClass;
}

/** What a remedy names: the address, the file, the group of this very case. */
export type Facts = Readonly<Record<string, string | number>>;

export interface Circumstances {
  readonly subject?: string;
  /** Where it is not the cause's own. */
  readonly check?: CheckName;
  readonly facts?: Facts;
}

export function isWell(check: CheckName, detail: string, subject?: string): Finding {
  return { check, state: "ok", ...defined({ subject }), detail: oneLine(detail) };
}

export function isSkipped(check: CheckName, detail: string): Finding {
  return { check, state: "skipped", detail: oneLine(detail) };
}

/** A problem or a warning, as its cause has it. */
export function isWrong(
  cause: CauseName,
  detail: string,
  { subject, facts = {}, check }: Circumstances = {},
): Finding {
  const { check: own, state, class: errorClass } = CAUSES[cause];
  return {
    check: check ?? own,
    state,
    ...defined({ subject }),
    detail: oneLine(detail),
    cause,
    remedy: oneLine(remedyOf(cause, facts)),
    ...defined({ class: errorClass }),
  };
}

/** Throws when the remedy names what the facts do not have: that is our defect. */
export function remedyOf(cause: CauseName, facts: Facts = {}): string {
  return CAUSES[cause].fix.replace(/\{(\w+)\}/g, (_, name: string) => {
    const fact = facts[name];
    if (fact === undefined) throw new Error(`the remedy for ${cause} names ${name}, which is not given`);
    return String(fact);
  });
}

/** Names as text, so many of them at most. */
export function named(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(", ");
  return names.length <= most ? shown : `${shown} and ${names.length - most} more`;
}

export function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
