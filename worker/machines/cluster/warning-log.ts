import type { Logger } from "../../../shared/logger.ts";

/** Something that is wrong in the cluster, which its owners should hear of. */
export type MachineWarning =
  /** No action can be done at the machine. */
  | { readonly kind: "unusable"; readonly machine: string; readonly reason: string }
  | {
      readonly kind: "unknown-options";
      readonly machine: string;
      readonly object: string;
      readonly options: readonly string[];
    }
  /** It would be a machine, but for its name. */
  | { readonly kind: "left-out"; readonly object: string; readonly problem: string }
  | { readonly kind: "not-served"; readonly resource: string };

/** So many have a line of their own at a time: a mistake may be that of a whole fleet. */
const MAX_LOGGED = 20;

/** Says each warning once as long as it stays, and again when it comes back. */
export class WarningLog {
  readonly #log: Logger;
  #logged: ReadonlySet<string> = new Set();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Takes all that there are now. */
  say(warnings: readonly MachineWarning[]): void {
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
