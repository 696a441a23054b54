import type { Clock } from "../../shared/clock.ts";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { defined } from "../../shared/defined.ts";
import type { Action } from "../core/action/action.ts";
import type { AccessReading, Machines, Refused, Target } from "../core/ports/machines.ts";
import { agentIdOf, hasMachine, type MachineUse } from "../machines/agent-id.ts";
import type { Inventory } from "../machines/inventory.ts";
import { LaunchCredentials, type LaunchCredentialsOptions } from "../machines/launch-credentials.ts";
import { type ResolvedMachine, resolveMachine } from "../machines/resolve-machine.ts";
import { startLimitsOf } from "../machines/start-limits-of.ts";
import type { Catalogue } from "../policy/catalogue.ts";
import { decide, decideMachine } from "../policy/decide.ts";
import { launchTerms } from "../policy/launch-terms.ts";
import type { Policy } from "../policy/policy.ts";
import { isTrusted } from "../policy/trust-rule.ts";

export interface MachinesOptions extends LaunchCredentialsOptions {
  readonly use: MachineUse;
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly policy: () => Policy;
}

/** Answers the core with the policy, the inventory and the credentials. */
export function composeMachines(options: MachinesOptions): Machines {
  const { catalogue, clock, inventory, policy, use } = options;
  const credentials = new LaunchCredentials(options);
  return {
    locate(action) {
      const rules = policy();
      const permission = decide(rules, { catalogue, clock }, action);
      if (!permission.allowed) return { ok: false, reason: permission.reason };
      const resolved = resolveMachine(action, inventory, use.agentIdPattern, (machine) =>
        hasMachine(use, machine.name)
          ? decideMachine(rules, action, machine)
          : inOtherShard(use, machine.name),
      );
      return resolved.ok ? placeOf(action, resolved, rules, credentials) : resolved;
    },
    limitsOf(machine, image) {
      const labels = machine === undefined ? undefined : inventory.find(machine)?.labels;
      return startLimitsOf(inventory.limits?.() ?? [], labels, parseImageReference(image)?.name ?? "");
    },
    whilePaused: () => policy().pausedMachines,
    redactorOf: (name, signal) => credentials.redactorOf(inventory, name, signal),
    learnHint: (machine, hint) => credentials.learnHint(machine, hint),
  };
}

type Found = ResolvedMachine & { readonly ok: true };

/** An image that the policy does not trust gets no credentials. */
function placeOf(
  { image }: Action,
  found: Found,
  policy: Policy,
  credentials: LaunchCredentials,
): Target | Refused {
  const terms = launchTerms(policy, image);
  const { connect, host, isPaused, lockKey, machine, mounted, paused } = { ...NOWHERE, ...found };
  const isTrustedImage = isTrusted(policy, image);
  const target = { ...defined({ machine, lockKey }), ...(isTrustedImage && defined({ connect, mounted })) };
  return {
    ok: true,
    ...defined({ machine, lockKey, paused, isPaused, terms, ...(isTrustedImage && { host }) }),
    connected: isTrustedImage && connect !== undefined,
    readAccess: (reading: AccessReading, cancel: AbortSignal) => credentials.read(target, reading, cancel),
  };
}

/** Whether the machine belongs to another shard: two shards must not use one BMC at the same time. */
function inOtherShard({ agentIdPattern, shard }: MachineUse, machine: string) {
  const agentId = agentIdOf(agentIdPattern, machine);
  const reason = `${machine} belongs to another shard than ${shard?.index}/${shard?.of}: address its workflows to ${agentId}`;
  return { allowed: false, reason } as const;
}

const NOWHERE = {
  connect: undefined,
  host: undefined,
  isPaused: undefined,
  lockKey: undefined,
  machine: undefined,
  mounted: undefined,
  paused: undefined,
};
