import type { Checked } from "../../shared/document/problem.ts";
import type { LogFields } from "../../shared/logger.ts";
import type { WatchedFile } from "../config/reload.ts";
import type { WorkerConfig } from "../config/worker-config.ts";
import { readTextFile } from "../document/read-text-file.ts";
import { CurrentInventory } from "../machines/current-inventory.ts";
import { parseInventory } from "../machines/parse-inventory.ts";
import { parsePolicy } from "../policy/parse-policy.ts";
import type { Policy } from "../policy/policy.ts";
import { settleTrust } from "../policy/settle-trust.ts";
import { unenforced } from "../policy/unenforced.ts";

export interface RuleFileEvents {
  /** Returns fields for the log. */
  readonly machinesChanged: () => LogFields;
  readonly inventoryTouched: () => void;
}

/** The inventory file and the policy file, as they were loaded last. */
export class RuleFiles {
  readonly inventory: CurrentInventory;
  readonly #config: WorkerConfig;
  #policy: Policy;

  constructor(config: WorkerConfig) {
    this.#config = config;
    this.inventory = new CurrentInventory(config.inventory);
    this.#policy = config.policy;
  }

  get policy(): Policy {
    return this.#policy;
  }

  watched(events: RuleFileEvents): readonly WatchedFile[] {
    const { inventory, policy } = this.#config.watched;
    return [
      ...(inventory
        ? [
            {
              name: "inventory" as const,
              ...inventory,
              touched: events.inventoryTouched,
              take: (text: string) => this.#takeInventory(inventory.path, text, events),
            },
          ]
        : []),
      ...(policy
        ? [
            {
              name: "policy" as const,
              ...policy,
              take: (text: string) => this.#takePolicy(policy.path, text),
            },
          ]
        : []),
    ];
  }

  #takeInventory(path: string, text: string, { machinesChanged }: RuleFileEvents): Checked<LogFields> {
    const parsed = parseInventory({ path, text, env: process.env, readFile: readTextFile });
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
