import { defined } from "../../../../shared/defined.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { Secret } from "../../../../shared/secret.ts";
import { redactor } from "../../../../shared/secret-forms.ts";
import type { Action, ActionStatus, Outcome } from "../../../../worker/core/action/action.ts";
import type { ActionJournal } from "../../../../worker/core/action/action-journal.ts";
import { MemoryJournal } from "../../../../worker/core/action/action-journal.ts";
import { noObserver, type Observers } from "../../../../worker/core/action/observer.ts";
import type { Machines, Refused } from "../../../../worker/core/ports/machines.ts";
import type { Runtime } from "../../../../worker/core/ports/runtime.ts";
import type { Source } from "../../../../worker/core/ports/source.ts";
import {
  ActionQueue,
  ActionSlots,
  type Locks,
  MachineLocks,
} from "../../../../worker/core/queue/action-queue.ts";
import { Executor } from "../../../../worker/core/run/executor.ts";
import type { ExecutorNeeds } from "../../../../worker/core/run/services.ts";
import { AuthGate } from "../../../../worker/machines/auth-gate.ts";
import { type CredentialsTarget, LaunchCredentials } from "../../../../worker/machines/launch-credentials.ts";
import { SecretCommands } from "../../../../worker/machines/secret-commands.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { canary, testConnection } from "../../runtimes/launch-request.ts";

export const TARGET = {
  ok: true,
  machine: "m1",
  lockKey: "bmc.example",
  connect: async () => testConnection(),
} as const;

/** A runtime that launches nothing, but for what is given. */
export function idleRuntime(more: Partial<Runtime> = {}): Runtime {
  return {
    name: "docker",
    run: () => Promise.reject(new Error("nothing is launched")),
    adopt: () => Promise.reject(new Error("nothing is adopted")),
    sweep: async () => 0,
    check: async () => "it is there",
    close: async () => undefined,
    ...more,
  };
}

/** A runtime whose actions end at once, unless they run until they are cancelled. */
export function briefRuntime({ untilCancelled = false, remove = async () => undefined } = {}): Runtime {
  return idleRuntime({
    name: "process",
    async run({ onLaunch, onLog }, signal) {
      const startedAt = new Date();
      await onLaunch?.({ pid: 1 });
      onLog({ stream: "stderr", line: "begun" });
      if (untilCancelled) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      const times = { timedOut: false, startedAt, stoppedAt: new Date() };
      const outcome: Outcome = untilCancelled
        ? { ok: false, class: "cancelled", message: "cancelled", killed: true, ...times }
        : { ok: true, message: "done", killed: false, ...times };
      return { outcome, remove };
    },
  });
}

/** Where an action of a test acts. */
export interface LabTarget extends CredentialsTarget {
  readonly ok: true;
  readonly paused?: string | undefined;
  isPaused?(): boolean;
}

interface LabMachines {
  readonly locate?: (action: Action) => LabTarget | Refused;
  readonly pausedMachines?: () => "fail" | "wait";
  readonly redactorOf?: Machines["redactorOf"];
  readonly limitsOf?: Machines["limitsOf"];
}

/** Machines whose credentials are what the target says. */
export function labMachines({
  locate = () => TARGET,
  pausedMachines = () => "fail",
  redactorOf = async () => redactor({}),
  limitsOf = () => [],
}: LabMachines = {}): Machines {
  const credentials = new LaunchCredentials({
    authGate: new AuthGate(),
    secretCommands: new SecretCommands(),
  });
  return {
    locate(action) {
      const target = locate(action);
      if (!target.ok) return target;
      const { connect, isPaused, machine, lockKey, paused } = target;
      return {
        ok: true,
        ...defined({ machine, lockKey, paused, isPaused }),
        connected: connect !== undefined,
        readAccess: (reading, cancel) => credentials.read(target, reading, cancel),
      };
    },
    limitsOf,
    whilePaused: pausedMachines,
    redactorOf,
    learnHint: (machine, hint) => credentials.learnHint(machine, hint),
  };
}

/** A source that serves nothing, but for what is given. */
export function labSource(more: Partial<Source> = {}): Source {
  return {
    servesSeveral: () => false,
    next: () => Promise.reject(new Error("nothing is served")),
    report: async () => ({ kind: "acknowledged" }),
    ...more,
  };
}

/** What the actions of a worker need, without a runtime and a server but for what is given. */
export function labNeeds(more: Partial<ExecutorNeeds> = {}): ExecutorNeeds {
  const source = labSource();
  return {
    machines: labMachines(),
    runtime: idleRuntime(),
    journal: new MemoryJournal(),
    queue: new ActionQueue(new MachineLocks(), new ActionSlots(4)),
    sourceOf: () => source,
    isLeading: () => true,
    traceEnvironment: () => ({}),
    defaultTimeoutMs: 60_000,
    maxBackoffMs: 1_000,
    observer: noObserver,
    clock: scaledClock(50),
    log: silentLogger,
    ...more,
  };
}

export interface LabOptions extends LabMachines, Partial<ExecutorNeeds> {
  readonly locks?: Locks;
  readonly source?: Partial<Source>;
}

/** An executor of actions for `TARGET`, at a server that takes every report, fifty times as fast. */
export function executorLab(
  runtime: Runtime,
  journal: ActionJournal,
  observer: Observers = noObserver,
  {
    locks = new MachineLocks(),
    source,
    locate,
    pausedMachines,
    redactorOf,
    limitsOf,
    ...more
  }: LabOptions = {},
) {
  const reports: ActionStatus[] = [];
  const from = labSource({
    async report(status: ActionStatus) {
      reports.push(status);
      return { kind: "acknowledged" };
    },
    ...source,
  });
  const stop = new AbortController();
  const executor = new Executor(
    labNeeds({
      machines: labMachines({
        redactorOf: async (machine) => {
          if (machine === "gone") throw new Error(`no ${machine}`);
          return redactor({ password: new Secret(canary) });
        },
        ...defined({ locate, pausedMachines, redactorOf, limitsOf }),
      }),
      ...{ runtime, journal, observer, sourceOf: () => from },
      queue: new ActionQueue(locks, new ActionSlots(4)),
      ...more,
    }),
  );
  const signals = { stop: stop.signal, cancel: new AbortController().signal };
  return {
    ...{ executor, reports, stop, signals },
    /** Recovers what an earlier worker left for as long as this takes. */
    async recoverDuring(work: () => Promise<unknown>): Promise<void> {
      const recovered = executor.recover(signals);
      await work();
      stop.abort();
      await recovered;
    },
  };
}
