import type { ErrorClass } from "../../shared/contract/error-class.ts";
import { oneLine } from "../../shared/contract/result.ts";
import { defined } from "../../shared/defined.ts";
import { CAUSES, type CauseName, type CheckName } from "./causes.ts";

/** Most severe first. */
export const FINDING_STATES = ["problem", "warning", "skipped", "ok"] as const;
export type FindingState = (typeof FINDING_STATES)[number];

export interface Finding {
  readonly check: CheckName;
  readonly state: FindingState;
  /** What it is about if the check covers several things: a machine, a line of a file. */
  readonly subject?: string;
  /** One line for people. */
  readonly detail: string;
  /** For problems and warnings: the cause, how to fix it, and the error class that an action or `start` would have. */
  readonly cause?: CauseName;
  readonly remedy?: string;
  readonly class?: ErrorClass;
}

/** What a remedy mentions: an address, a file, a group. */
export type Facts = Readonly<Record<string, string | number>>;

export interface FindingOptions {
  readonly subject?: string;
  /** If not the cause's own. */
  readonly check?: CheckName;
  readonly facts?: Facts;
}

export function okFinding(check: CheckName, detail: string, subject?: string): Finding {
  return { check, state: "ok", ...defined({ subject }), detail: oneLine(detail) };
}

export function skippedFinding(check: CheckName, detail: string, subject?: string): Finding {
  return { check, state: "skipped", ...defined({ subject }), detail: oneLine(detail) };
}

/** A problem or a warning. */
export function findingOf(
  cause: CauseName,
  detail: string,
  { subject, facts = {}, check }: FindingOptions = {},
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

/** Throws if a fact that the remedy mentions is missing, which is a bug. */
export function remedyOf(cause: CauseName, facts: Facts = {}): string {
  return CAUSES[cause].fix.replace(/\{(\w+)\}/g, (_, name: string) => {
    const fact = facts[name];
    if (fact === undefined) throw new Error(`the remedy for ${cause} names ${name}, which is not given`);
    return String(fact);
  });
}

/** Joins at most `most` names. */
export function joinNames(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(", ");
  return names.length <= most ? shown : `${shown} and ${names.length - most} more`;
}
