import type { BmcFault } from "./bmc-host.ts";
import type { TinkOrder } from "./tink-host.ts";

/** Something that goes wrong, and when: milliseconds since the faults begin. */
export type PlannedFault = { readonly atMs: number } & (
  | { readonly kind: "worker killed"; readonly worker: string; readonly downMs: number }
  | { readonly kind: "worker stopped"; readonly worker: string; readonly downMs: number }
  | { readonly kind: "worker frozen"; readonly worker: string; readonly forMs: number }
  | { readonly kind: "server down"; readonly how: "cut" | "orderly"; readonly forMs: number }
  /** Restarted with what its database was `ageMs` before, or with none. */
  | { readonly kind: "server restored"; readonly database: "older" | "empty"; readonly ageMs: number }
  | { readonly kind: "connections cut"; readonly how: "goaway" | "destroy" }
  | { readonly kind: "calls held" | "calls refused" | "acknowledgements lost"; readonly order: TinkOrder }
  | { readonly kind: "BMC fault"; readonly machine: string; readonly fault: BmcFault }
  | { readonly kind: "certificate changed"; readonly machine: string; readonly forMs: number }
  | { readonly kind: "disk full"; readonly worker: string; readonly forMs: number }
  | { readonly kind: "disk read-only"; readonly worker: string; readonly forMs: number }
  | { readonly kind: "names unresolved"; readonly worker: string; readonly forMs: number }
  | { readonly kind: "engine restarted"; readonly how: "SIGTERM" | "SIGKILL"; readonly downMs: number }
  /** One replica, or all of them. */
  | { readonly kind: "API server unreachable"; readonly workers: readonly string[]; readonly forMs: number }
  | { readonly kind: "API calls refused"; readonly status: 429 | 500 | 503; readonly times: number }
  | { readonly kind: "API answers lost"; readonly times: number }
  | { readonly kind: "watches broken"; readonly silently: boolean }
  /** An action that prints without end. */
  | { readonly kind: "output flood"; readonly worker: string }
  /** A process that is killed, as by the kernel at a memory limit. */
  | { readonly kind: "action killed"; readonly worker: string }
  /** Another worker on the same directory. */
  | { readonly kind: "second worker"; readonly worker: string }
  | { readonly kind: "clock jumps"; readonly byMs: number }
  | { readonly kind: "machine taken out"; readonly machine: string; readonly forMs: number }
  | { readonly kind: "machine changed"; readonly machine: string }
  | { readonly kind: "inventory broken"; readonly worker: string; readonly forMs: number }
);
type FaultKind = PlannedFault["kind"];

export interface FaultTargets {
  /** Workers that may be killed and stopped. */
  readonly mortal: readonly string[];
  readonly workers: readonly string[];
  /** Workers whose state directory is a disk of its own. */
  readonly withDisk: readonly string[];
  /** Workers that find their BMCs by names. */
  readonly withNames: readonly string[];
  /** Workers whose actions are containers. */
  readonly inContainers: readonly string[];
  /** Whether the containers have an engine that may be restarted. */
  readonly hasEngine: boolean;
  /** Workers that share the agent IDs of a Kubernetes cluster. */
  readonly replicas: readonly string[];
  /** Workers whose actions are processes or containers. */
  readonly withProcesses: readonly string[];
  readonly machines: readonly string[];
  /** Machines whose BMC has a certificate. */
  readonly withCertificate: readonly string[];
}

/** How often, in proportion to each other; a kind whose target is missing gives its place to the others. */
const WEIGHTS: Readonly<Record<FaultKind, number>> = {
  "worker killed": 14,
  "worker stopped": 4,
  "worker frozen": 3,
  "second worker": 2,
  "action killed": 4,
  "engine restarted": 3,
  "API server unreachable": 6,
  "API calls refused": 5,
  "API answers lost": 6,
  "watches broken": 4,
  "output flood": 2,
  "server down": 5,
  "server restored": 3,
  "connections cut": 6,
  "calls held": 6,
  "calls refused": 6,
  "acknowledgements lost": 8,
  "BMC fault": 32,
  "certificate changed": 3,
  "names unresolved": 3,
  "disk full": 4,
  "disk read-only": 3,
  "clock jumps": 4,
  "machine taken out": 3,
  "machine changed": 2,
  "inventory broken": 2,
};

/** The targets without which a kind cannot be. */
const NEEDS: Readonly<Partial<Record<FaultKind, keyof FaultTargets>>> = {
  "worker killed": "mortal",
  "worker stopped": "mortal",
  "worker frozen": "workers",
  "second worker": "workers",
  "action killed": "withProcesses",
  "engine restarted": "hasEngine",
  "API server unreachable": "replicas",
  "API calls refused": "replicas",
  "API answers lost": "replicas",
  "watches broken": "replicas",
  "output flood": "inContainers",
  "BMC fault": "machines",
  "certificate changed": "withCertificate",
  "names unresolved": "withNames",
  "disk full": "withDisk",
  "disk read-only": "withDisk",
  "machine taken out": "machines",
  "machine changed": "machines",
  "inventory broken": "workers",
};

/** Average time between two faults. */
const APART_MS = 900;
/** How far the clock jumps. The longest jump exceeds the time for which a journal remembers ended actions. */
const JUMPS_MS = [2_000, 60_000, 30 * 60_000, 5 * 60 * 60_000];

/** Plans faults, equal ones for equal dice: all begin within `durationMs`, and none lasts longer than twenty seconds. */
export function planFaults(
  roll: () => number,
  durationMs: number,
  targets: FaultTargets,
): readonly PlannedFault[] {
  const plan: PlannedFault[] = [];
  for (let atMs = APART_MS * roll(); atMs < durationMs; atMs += 2 * APART_MS * roll()) {
    plan.push(...plannedFault(roll, Math.round(atMs), targets));
  }
  return plan;
}

function plannedFault(roll: () => number, atMs: number, targets: FaultTargets): readonly PlannedFault[] {
  const between = (from: number, to: number) => Math.round(from + roll() * (to - from));
  const oneOf = <T>(items: readonly T[]): T | undefined => items[Math.floor(roll() * items.length)];
  const method = () => (roll() < 0.3 ? "GetAction" : "ReportActionStatus");
  const kind = weighted(roll, targets);
  const mortal = oneOf(targets.mortal);
  const worker = oneOf(targets.workers);
  const machine = oneOf(targets.machines);
  const disk = oneOf(targets.withDisk);
  const named = oneOf(targets.withNames);
  const withProcesses = oneOf(targets.withProcesses);
  const container = oneOf(targets.inContainers);
  const certified = oneOf(targets.withCertificate);
  const replica = oneOf(targets.replicas);
  switch (kind) {
    case "worker killed": {
      if (mortal === undefined) return [];
      const first = { kind, atMs, worker: mortal, downMs: between(0, 2_500) };
      if (roll() < 0.6) return [first];
      // Once more, while it continues with what the first left.
      const again = { kind, atMs: atMs + first.downMs + between(300, 3_000), worker: mortal };
      return [first, { ...again, downMs: between(0, 500) }];
    }
    case "worker stopped":
      return mortal === undefined ? [] : [{ kind, atMs, worker: mortal, downMs: between(0, 1_500) }];
    case "worker frozen":
      return worker === undefined ? [] : [{ kind, atMs, worker, forMs: between(500, 6_000) }];
    case "server down":
      return [{ kind, atMs, how: roll() < 0.5 ? "cut" : "orderly", forMs: between(200, 6_000) }];
    case "server restored": {
      const database = roll() < 0.7 ? "older" : "empty";
      return [{ kind, atMs, database, ageMs: between(300, 6_000) }];
    }
    case "connections cut":
      return [{ kind, atMs, how: roll() < 0.5 ? "goaway" : "destroy" }];
    case "calls held": {
      const order = {
        kind: "delay",
        method: method(),
        delayMs: between(200, 5_000),
        times: between(1, 6),
      } as const;
      return [{ kind, atMs, order }];
    }
    case "calls refused": {
      const code = oneOf(["Unavailable", "Internal", "ResourceExhausted"] as const) ?? "Unavailable";
      return [{ kind, atMs, order: { kind: "refuse", method: method(), code, times: between(1, 5) } }];
    }
    case "acknowledgements lost":
      return [{ kind, atMs, order: { kind: "lose-acknowledgements", times: between(1, 4) } }];
    case "BMC fault":
      return machine === undefined ? [] : [{ kind, atMs, machine, fault: bmcFault(roll, between) }];
    case "disk full":
      return disk === undefined ? [] : [{ kind, atMs, worker: disk, forMs: between(300, 6_000) }];
    case "disk read-only": {
      const both = targets.mortal.filter((name) => targets.withDisk.includes(name));
      const frozen = oneOf(both);
      return frozen === undefined ? [] : [{ kind, atMs, worker: frozen, forMs: between(1_000, 6_000) }];
    }
    case "names unresolved":
      return named === undefined ? [] : [{ kind, atMs, worker: named, forMs: between(300, 6_000) }];
    case "certificate changed":
      return certified === undefined ? [] : [{ kind, atMs, machine: certified, forMs: between(300, 6_000) }];
    case "action killed":
      return withProcesses === undefined ? [] : [{ kind, atMs, worker: withProcesses }];
    case "engine restarted": {
      const how = roll() < 0.5 ? "SIGTERM" : "SIGKILL";
      return targets.hasEngine ? [{ kind, atMs, how, downMs: between(0, 3_000) }] : [];
    }
    case "API server unreachable": {
      if (replica === undefined) return [];
      const workers = roll() < 0.5 ? targets.replicas : [replica];
      // Long enough to be taken for dead, sometimes.
      return [{ kind, atMs, workers, forMs: between(500, roll() < 0.3 ? 20_000 : 6_000) }];
    }
    case "API calls refused": {
      const status = oneOf([429, 500, 503] as const) ?? 503;
      return replica === undefined ? [] : [{ kind, atMs, status, times: between(1, 5) }];
    }
    case "API answers lost":
      return replica === undefined ? [] : [{ kind, atMs, times: between(1, 4) }];
    case "watches broken":
      return replica === undefined ? [] : [{ kind, atMs, silently: roll() < 0.3 }];
    case "output flood":
      return container === undefined ? [] : [{ kind, atMs, worker: container }];
    case "second worker":
      return worker === undefined ? [] : [{ kind, atMs, worker }];
    case "clock jumps": {
      const reach = oneOf(JUMPS_MS) ?? 0;
      return [{ kind, atMs, byMs: between(-reach, reach) }];
    }
    case "machine taken out":
      return machine === undefined ? [] : [{ kind, atMs, machine, forMs: between(1_000, 8_000) }];
    case "machine changed":
      return machine === undefined ? [] : [{ kind, atMs, machine }];
    case "inventory broken":
      return worker === undefined ? [] : [{ kind, atMs, worker, forMs: between(500, 5_000) }];
    default:
      return kind satisfies never;
  }
}

function bmcFault(roll: () => number, between: (from: number, to: number) => number): BmcFault {
  const kinds = [
    "slow",
    "busy",
    "mute",
    "deaf",
    "garbled",
    "forgetful",
    "restart",
    "restart-on-command",
  ] as const;
  const kind = kinds[Math.floor(roll() * kinds.length)] ?? "busy";
  if (kind === "slow") return { kind, latencyMs: between(100, 1_200), forMs: between(500, 5_000) };
  if (kind === "restart" || kind === "restart-on-command") return { kind, downMs: between(500, 5_000) };
  return { kind, times: kind === "forgetful" ? 1 : between(1, 4) };
}

function weighted(roll: () => number, targets: FaultTargets): FaultKind {
  const possible = (Object.entries(WEIGHTS) as [FaultKind, number][]).filter(([kind]) => {
    const needed = NEEDS[kind] && targets[NEEDS[kind]];
    return typeof needed === "object" ? needed.length > 0 : needed !== false;
  });
  let left = roll() * possible.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [kind, weight] of possible) {
    left -= weight;
    if (left < 0) return kind;
  }
  return "calls held";
}
