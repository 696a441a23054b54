import type { ErrorClass } from "../../shared/contract/error-class.ts";
import { oneLine } from "../../shared/contract/result.ts";
import { CAUSES, type CauseName, type CheckName } from "./causes.ts";

/** Most severe first. */
export const FINDING_STATES = ["problem", "warning", "skipped", "ok"] as const;
export type FindingState = (typeof FINDING_STATES)[number];

export interface Finding {
  readonly check: CheckName;
  readonly state: FindingState;
  /** The subject of the finding if the check covers several: a machine, or a line of a file. */
  readonly subject?: string | undefined;
  /** One line for people. */
  readonly detail: string;
  /** For problems and warnings: the cause, the fix, and the error class of an action or of `start`. */
  readonly cause?: CauseName | undefined;
  readonly remedy?: string | undefined;
  readonly class?: ErrorClass | undefined;
}

/** Values that a remedy mentions: an address, a file, a group. */
export type Facts = Readonly<Record<string, string | number>>;

export interface FindingOptions {
  readonly subject?: string | undefined;
  /** Overrides the cause's own check. */
  readonly check?: CheckName;
  readonly facts?: Facts;
}

export function okFinding(check: CheckName, detail: string, subject?: string): Finding {
  return { check, state: "ok", subject, detail: oneLine(detail) };
}

export function skippedFinding(check: CheckName, detail: string, subject?: string): Finding {
  return { check, state: "skipped", subject, detail: oneLine(detail) };
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
    subject,
    detail: oneLine(detail),
    cause,
    remedy: oneLine(remedyOf(cause, facts)),
    class: errorClass,
  };
}

/** Where the pages are: an installed package has none. */
const PAGES = "https://github.com/pbnj-worker/pbnj-worker/blob/main/docs/";

/** Returns how to fix a cause. Throws if a fact that the remedy mentions is missing, which is a bug. */
export function remedyOf(cause: CauseName, facts: Facts = {}): string {
  return CAUSES[cause].fix.replaceAll("docs/", PAGES).replace(/\{(\w+)\}/g, (_, name: string) => {
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
