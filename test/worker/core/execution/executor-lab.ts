import { silentLogger } from "../../../../shared/logger.ts";
import { Secret } from "../../../../shared/secret.ts";
import { redactor } from "../../../../shared/secret-forms.ts";
import type { ActionStatus, Outcome } from "../../../../worker/core/action/action.ts";
import { noObserver, type Observer } from "../../../../worker/core/action/observer.ts";
import { Executor } from "../../../../worker/core/execution/executor.ts";
import type { ExecutorOptions } from "../../../../worker/core/execution/executor-options.ts";
import type { JournalEntry, JournalPhase } from "../../../../worker/core/journal/entry.ts";
import type { ActionJournal } from "../../../../worker/core/journal/journal.ts";
import { MemoryJournal } from "../../../../worker/core/journal/memory-journal.ts";
import type { Runtime } from "../../../../worker/core/runtime/runtime.ts";
import type { StatusSink } from "../../../../worker/core/source/source.ts";
import { ActionSlots, MachineLocks } from "../../../../worker/core/turns/turns.ts";
import { AuthGate } from "../../../../worker/machines/auth-gate.ts";
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

/** An executor of actions for `TARGET`, at a server that takes every report, fifty times as fast. */
export function executorLab(
  runtime: Runtime,
  journal: ActionJournal,
  observer: Observer = noObserver,
  more: Partial<ExecutorOptions> = {},
  sees: Pick<StatusSink, "isGone"> = {},
) {
  const clock = scaledClock(50);
  const reports: ActionStatus[] = [];
  const sink: StatusSink = {
    ...sees,
    async report(status: ActionStatus) {
      reports.push(status);
      return { kind: "acknowledged" };
    },
  };
  const stop = new AbortController();
  const executor = new Executor({
    permit: () => ({ allowed: true }),
    locate: () => TARGET,
    pausedMachines: () => "fail",
    runtime,
    sink,
    maxBackoffMs: 1_000,
    locks: new MachineLocks(),
    slots: new ActionSlots(4),
    authGate: new AuthGate(),
    secretCommands: new SecretCommands(),
    isLeading: () => true,
    redactorOf: async (machine) => {
      if (machine === "gone") throw new Error(`no ${machine}`);
      return redactor({ password: new Secret(canary) });
    },
    journal,
    clock,
    log: silentLogger,
    defaultTimeoutMs: 60_000,
    observer,
    traceEnvironment: () => ({}),
    ...more,
  });
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

/** A journal in memory whose next entry in some phase finds no room. */
export class FullJournal extends MemoryJournal {
  #refused: JournalPhase | undefined;
  readonly written: JournalPhase[] = [];
  /** As they were written. */
  readonly entries: JournalEntry[] = [];

  constructor(refused?: JournalPhase) {
    super();
    this.#refused = refused;
  }

  override async write(entry: JournalEntry): Promise<void> {
    if (entry.phase === this.#refused) {
      this.#refused = undefined;
      throw new Error("ENOSPC: no space left on device");
    }
    this.written.push(entry.phase);
    this.entries.push(entry);
    await super.write(entry);
  }
}
