import * as z from "zod/mini";
import { ASSUMED_POWER, DRY_RUN } from "../../shared/contract/dry-run.ts";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import type { Action, Outcome } from "../core/action/action.ts";
import type { Refused, Target } from "../core/ports/machines.ts";

/** The part of a planned action's data that says which power state it leads to. */
const Planned = z.object({ powerThen: z.enum(["on", "off"]) });

/** The plan of a template's actions, each as if the power actions before it had succeeded. */
export class TemplatePlan {
  readonly #catalogue: readonly string[];
  readonly #locate: (action: Action) => Target | Refused;
  readonly #powers = new Map<string, string>();

  constructor(catalogue: readonly string[], locate: (action: Action) => Target | Refused) {
    this.#catalogue = catalogue;
    this.#locate = locate;
  }

  /** Returns an action's dry run without its hooks, or why it has none: an image of others may ignore the variable. */
  planned(action: Action): Action | string {
    const name = parseImageReference(action.image)?.name ?? "";
    if (!this.#catalogue.includes(name)) return `${action.image} is not an action of this release`;
    if (action.command.some((word) => /^--dry-run(=|$)/.test(word))) return "it sets --dry-run itself";
    const power = this.#powers.get(this.#machineOf(action));
    const assumed = power === undefined ? {} : { [ASSUMED_POWER]: power };
    const environment = { ...action.environment, ...assumed, [DRY_RUN]: "true" };
    return { ...action, environment, onTimeout: [], onFailure: [] };
  }

  /** Remembers the power state to which a planned action leads. */
  learn(action: Action, { ok, result }: Outcome): void {
    const planned = Planned.safeParse(result?.data);
    if (ok && planned.success) this.#powers.set(this.#machineOf(action), planned.data.powerThen);
  }

  #machineOf(action: Action): string {
    const target = this.#locate(action);
    return (target.ok && target.lockKey) || action.agentId;
  }
}
