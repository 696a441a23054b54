import { FLOOD } from "./images.ts";

/** One workflow to submit. */
export interface PlannedWorkflow {
  readonly name: string;
  readonly template: string;
}

export interface WorkloadTargets {
  /** By machine: the agent ID that is the machine's own, and one that its worker has for all its machines. */
  readonly agentIds: ReadonlyMap<string, { readonly own: string; readonly shared: string }>;
  /** What image names begin with. */
  readonly registry: string;
  readonly tag: string;
}

interface Step {
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
}

const ACTION_TIMEOUT_SECONDS = 60;
const FLOOD_SECONDS = 3;
/** Longer than any run: a workflow that the server ends is none that the worker has ended. */
const GLOBAL_TIMEOUT_SECONDS = 24 * 60 * 60;
/** A machine's own agent ID runs one action at a time by itself; only others put the machine's lock to the test. */
const SHARED_SHARE = 0.15;
const REACH_STATE: Readonly<Record<string, string>> = { STATE_TIMEOUT: "25s" };

/** Plans a workflow, equal ones on equal machines for equal dice. */
export function planWorkflow(roll: () => number, index: number, targets: WorkloadTargets): PlannedWorkflow {
  const machines = [...targets.agentIds];
  const [machine, agentIds] = machines[Math.floor(roll() * machines.length)] ?? [];
  if (machine === undefined || agentIds === undefined) throw new Error("there is no machine to work on");
  const worker = roll() < SHARED_SHARE ? agentIds.shared : agentIds.own;
  const actions = steps(roll).map(({ name, environment }, place) => ({
    name: `${place + 1}-${name}`,
    image: `${targets.registry}/${name}:${targets.tag}`,
    timeout: ACTION_TIMEOUT_SECONDS,
    environment: { ...environment, MACHINE: machine },
  }));
  return workflowOf(`chaos-${index}`, worker, actions);
}

/** An action that prints on both streams until its timeout. */
export function planFlood(name: string, worker: string, machine: string): PlannedWorkflow {
  return workflowOf(name, worker, [
    { ...FLOOD, name: "1-hostile", timeout: FLOOD_SECONDS, environment: { MACHINE: machine } },
  ]);
}

function workflowOf(name: string, worker: string, actions: readonly object[]): PlannedWorkflow {
  const tasks = [{ name: "power", worker, actions }];
  // JSON is YAML as well.
  return {
    name,
    template: JSON.stringify({ version: "0.1", name, global_timeout: GLOBAL_TIMEOUT_SECONDS, tasks }),
  };
}

function steps(roll: () => number): readonly Step[] {
  const on: Step = { name: "power-on", environment: REACH_STATE };
  const pxe: Step = { name: "set-pxe-once", environment: {} };
  const soft = { MODE: "soft-then-hard", SOFT_TIMEOUT: "5s" };
  const off: Step = {
    name: "power-off",
    environment: { ...REACH_STATE, ...(roll() < 0.5 ? { MODE: "hard" } : soft) },
  };
  const cycle: Step = {
    name: "power-cycle",
    environment: { ...REACH_STATE, OFF_DURATION: roll() < 0.7 ? "0s" : "1s" },
  };
  const choice = roll();
  if (choice < 0.4) return [off, pxe, on];
  if (choice < 0.75) return [cycle];
  return choice < 0.9 ? [cycle, cycle] : [off, on];
}
