import type { Logger } from "../../../shared/logger.ts";
import { keyOf } from "../../kubernetes/client/kinds.ts";
import { pauseNote } from "../../machines/pause.ts";
import type { ClusterMachine, MachineIndex, ObjectOrigin } from "./machine-index.ts";
import { LOCAL_SOURCE } from "./machine-source-list.ts";

/** A problem that the cluster's owners should fix. */
export type MachineWarning =
  | {
      readonly kind: "unusable" | "paused" | "refused-host" | "desired-state";
      readonly machine: string;
      readonly reason: string;
    }
  | {
      readonly kind: "unknown-options";
      readonly machine: string;
      readonly object: string;
      readonly options: readonly string[];
    }
  /** An object that was skipped because its name is invalid or taken. */
  | { readonly kind: "left-out"; readonly object: string; readonly problem: string }
  | { readonly kind: "not-served"; readonly resource: string };

/** The most warnings to log at a time, because one mistake may affect a whole fleet. */
const MAX_LOGGED = 20;

/** Logs each warning once, and again if it returns after it was resolved. */
export class WarningLog {
  readonly #log: Logger;
  #logged: ReadonlySet<string> = new Set();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Logs the warnings that are new. Pass all current warnings. */
  logNew(warnings: readonly MachineWarning[]): void {
    const now = new Map(warnings.map((warning) => [JSON.stringify(warning), warning]));
    const fresh = [...now].filter(([text]) => !this.#logged.has(text));
    this.#logged = new Set(now.keys());
    for (const [, warning] of fresh.slice(0, MAX_LOGGED)) this.#logOne(warning);
    const others = fresh.length - MAX_LOGGED;
    if (others > 0) this.#log.warn({ others }, "more invalid Machine objects");
  }

  #logOne(warning: MachineWarning): void {
    const { kind, ...fields } = warning;
    switch (kind) {
      case "unusable":
        this.#log.warn(fields, "invalid Machine object");
        break;
      case "paused":
        this.#log.info(fields, "paused machine left alone");
        break;
      case "refused-host":
        this.#log.warn(fields, "BareMetalHost refused");
        break;
      case "desired-state":
        this.#log.warn(fields, "invalid desired state ignored");
        break;
      case "unknown-options":
        this.#log.warn(fields, "unknown machine options ignored");
        break;
      case "left-out":
        this.#log.warn(fields, "cluster object skipped");
        break;
      case "not-served":
        this.#log.warn(fields, "CRD not installed");
        break;
      default:
        kind satisfies never;
    }
  }
}

export function machineWarnings({ byName, rejected }: MachineIndex): readonly MachineWarning[] {
  return [
    ...rejected.map((fields) => ({ kind: "left-out", ...fields }) as const),
    ...[...byName.values()].flatMap((found) => warningsOn(found)),
  ];
}

/** Explains why every action on a machine fails: names its source if that is another cluster, its object, and all problems. */
export function reasonOf({ object, at, source }: ObjectOrigin, problems: readonly string[]): string {
  const from = source === LOCAL_SOURCE ? "" : `machine source ${source}: `;
  return `${from}${object} ${keyOf(at)}: ${problems.join("; ")}`;
}

function warningsOn(found: ClusterMachine): readonly MachineWarning[] {
  const { machine, object, at, isListed, content } = found;
  // The Hardware that names this Machine reports its problems.
  if (!isListed) return [];
  if (machine.paused) return [{ kind: "paused", machine: machine.name, reason: pauseNote(machine.paused) }];
  if (content.kind === "unusable") {
    const kind = object === "BareMetalHost" ? "refused-host" : "unusable";
    return [{ kind, machine: machine.name, reason: reasonOf(found, content.problems) }];
  }
  const { unknown: options, desiredProblem } = content;
  const about = { machine: machine.name };
  const warnings: MachineWarning[] = [];
  if (options)
    warnings.push({ kind: "unknown-options", ...about, object: `${object} ${keyOf(at)}`, options });
  if (desiredProblem !== undefined) {
    warnings.push({ kind: "desired-state", ...about, reason: reasonOf(found, [desiredProblem]) });
  }
  return warnings;
}
