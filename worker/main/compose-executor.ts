import { defined } from "../../shared/defined.ts";
import { redactor } from "../../shared/secret-forms.ts";
import type { Action } from "../core/action/action.ts";
import { noObserver } from "../core/action/observer.ts";
import type { ReferenceRefusal } from "../core/action/reference.ts";
import { Executor } from "../core/execution/executor.ts";
import type { ExecutorOptions, Target } from "../core/execution/executor-options.ts";
import { ActionSlots, MachineLocks } from "../core/turns/turns.ts";
import { agentIdOf, hasMachine, type MachineUse } from "../machines/agent-id.ts";
import { AuthGate } from "../machines/auth-gate.ts";
import { connectionRedactor } from "../machines/connection-redactor.ts";
import type { Inventory } from "../machines/inventory.ts";
import { type ResolvedMachine, resolveMachine } from "../machines/resolve-machine.ts";
import { SecretCommands } from "../machines/secret-commands.ts";
import type { Catalogue } from "../policy/catalogue.ts";
import { decide, decideMachine, decideReference } from "../policy/decide.ts";
import { launchTerms } from "../policy/launch-terms.ts";
import type { Policy } from "../policy/policy.ts";
import { isTrusted } from "../policy/trust-rule.ts";
import type { WorkerConfig } from "./settings.ts";

/** `pbnj-worker run` uses the defaults of the optional ones. */
export interface ExecutionOptions
  extends Pick<ExecutorOptions, "runtime" | "sink" | "journal" | "log" | "clock">,
    Partial<Pick<ExecutorOptions, "locks" | "slots" | "authGate" | "secretCommands" | "observer">>,
    Partial<Pick<ExecutorOptions, "isLeading" | "isShared" | "cancelOf" | "seesDeletion">>,
    Partial<Pick<ExecutorOptions, "traceEnvironment">> {
  readonly catalogue: Catalogue;
  readonly inventory: Inventory;
  readonly policy: () => Policy;
}

export function composeExecutor(config: WorkerConfig, options: ExecutionOptions): Executor {
  const { catalogue, inventory, policy, ...given } = options;
  const { clock, runtime, secretCommands = new SecretCommands() } = given;
  return new Executor({
    locks: new MachineLocks(),
    slots: new ActionSlots(config.maxActions),
    authGate: new AuthGate(clock),
    isLeading: () => true,
    traceEnvironment: () => ({}),
    observer: noObserver,
    ...given,
    secretCommands,
    permit: (action) => decide(policy(), catalogue, action),
    locate: (action) => locate(action, inventory, policy(), config),
    pausedMachines: () => policy().pausedMachines,
    maxBackoffMs: config.backoffMaxIntervalMs,
    redactorOf: async (name, signal) => {
      const machine = inventory.find(name);
      if (!machine) throw new Error(`the inventory no longer has ${name}`);
      const { secretNamespace } = runtime;
      // The worker cannot redact secrets that it never read; actions redact them themselves.
      if (secretNamespace !== undefined && inventory.mountedConnection?.(machine, secretNamespace)) {
        return redactor({});
      }
      return connectionRedactor(
        // The action began before the machine was paused.
        await inventory.resolveConnection(machine, { commands: secretCommands, whilePaused: true, signal }),
      );
    },
    defaultTimeoutMs: config.defaultActionTimeoutMs,
  });
}

/** Why the policy forbids an action at a machine of this name, before the action exists; undefined if it allows it. */
export function policyRefusal(
  action: Action,
  machine: string,
  { policy, catalogue }: Pick<ExecutionOptions, "policy" | "catalogue">,
): string | undefined {
  const rules = policy();
  for (const decision of [decide(rules, catalogue, action), decideMachine(rules, action, machine)]) {
    if (!decision.allowed) return decision.reason;
  }
  return undefined;
}

/** What the policy says of references between objects, as it is now. */
export function referenceRefusal(policy: () => Policy): ReferenceRefusal {
  return (reference) => {
    const decision = decideReference(policy(), reference);
    return decision.allowed ? undefined : decision.reason;
  };
}

/** The machine of an action. An image that the policy does not trust gets no credentials. */
function locate(action: Action, inventory: Inventory, policy: Policy, use: MachineUse): Target {
  const located = resolveMachine(action, inventory, use.agentIdPattern, (machine) =>
    hasMachine(use, machine) ? decideMachine(policy, action, machine) : inOtherShard(use, machine),
  );
  if (!located.ok) return located;
  const terms = launchTerms(policy, action.image);
  return isTrusted(policy, action.image) ? { ...located, terms } : { ...placeOf(located), terms };
}

/** Two shards must not use one BMC at the same time. */
function inOtherShard({ agentIdPattern, shard }: MachineUse, machine: string) {
  const agentId = agentIdOf(agentIdPattern, machine);
  const reason = `${machine} belongs to another shard than ${shard?.index}/${shard?.of}: address its workflows to ${agentId}`;
  return { allowed: false, reason } as const;
}

function placeOf(located: ResolvedMachine & { readonly ok: true }): Target & { readonly ok: true } {
  return {
    ok: true,
    ...("machine" in located && { machine: located.machine }),
    ...("lockKey" in located && { lockKey: located.lockKey, ...defined({ paused: located.paused }) }),
  };
}
