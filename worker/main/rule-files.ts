import type { Checked } from "../../shared/document/problem.ts";
import type { LogFields, Logger } from "../../shared/logger.ts";
import { readTextFile } from "../../shared/read-text-file.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import type { WatchedFile } from "../config/reload.ts";
import { CombinedInventory } from "../machines/combined-inventory.ts";
import { parseInventory } from "../machines/parse-inventory.ts";
import { parsePolicy } from "../policy/parse-policy.ts";
import type { Policy } from "../policy/policy.ts";
import { settleTrust } from "../policy/settle-trust.ts";
import { unenforced } from "../policy/unenforced.ts";
import type { WorkerConfig } from "./settings.ts";

export interface RuleFileEvents {
  /** Called when the machines have changed. Returns fields for the log. */
  readonly machinesChanged: () => LogFields;
  readonly inventoryTouched: () => void;
}

/** The latest valid versions of the inventory and the policy. */
export class RuleFiles {
  readonly inventory: CombinedInventory;
  readonly #config: WorkerConfig;
  readonly #env: Environment;
  readonly #actions: readonly string[];
  #policy: Policy;

  /** `actions` are the names of all actions. */
  constructor(config: WorkerConfig, env: Environment, actions: readonly string[], log: Logger) {
    this.#config = config;
    this.#env = env;
    this.#actions = actions;
    this.inventory = new CombinedInventory(config.inventory, log);
    this.#policy = config.policy;
  }

  get policy(): Policy {
    return this.#policy;
  }

  watched(events: RuleFileEvents): readonly WatchedFile[] {
    const { inventory, policy } = this.#config.watched;
    const files: WatchedFile[] = [];
    if (inventory) {
      const take = (text: string) => this.#takeInventory(inventory.path, text, events);
      files.push({ name: "inventory", ...inventory, take, touched: events.inventoryTouched });
    }
    if (policy) {
      files.push({ name: "policy", ...policy, take: (text) => this.#takePolicy(policy.path, text) });
    }
    return files;
  }

  #takeInventory(path: string, text: string, { machinesChanged }: RuleFileEvents): Checked<LogFields> {
    const parsed = parseInventory({
      ...{ path, text, env: this.#env, readFile: readTextFile },
      actions: this.#actions,
    });
    if (!parsed.ok) return parsed;
    this.inventory.replace(parsed.value);
    return { ...parsed, value: { machines: parsed.value.machines().length, ...machinesChanged() } };
  }

  #takePolicy(path: string, text: string): Checked<LogFields> {
    const { runtime, trust } = this.#config;
    const parsed = parsePolicy(path, text);
    if (!parsed.ok) return parsed;
    const settled = settleTrust(parsed.value, trust);
    if (!settled.ok) return { ok: false, problems: [{ source: path, message: settled.message }] };
    this.#policy = settled.policy;
    const warnings = [...parsed.warnings, ...unenforced(parsed.value, runtime.kind)];
    return { ok: true, value: {}, warnings };
  }
}
