import { BmcClient } from "../../../../shared/bmc/client.ts";
import { type Clock, systemClock } from "../../../../shared/clock.ts";
import type { LogFields, Logger } from "../../../../shared/logger.ts";
import type { Action } from "../../../../worker/core/action/action.ts";
import { actionEntries } from "../../../../worker/core/action/action-journal.ts";
import type { HardwareOfMachines } from "../../../../worker/core/action/hardware-seen.ts";
import { noObserver, observers } from "../../../../worker/core/action/observer.ts";
import { Journal } from "../../../../worker/core/journal/journal.ts";
import { openStateDirectory } from "../../../../worker/core/journal/state-directory.ts";
import { runLane } from "../../../../worker/core/lanes/lane.ts";
import { ActionQueue, ActionSlots, MachineLocks } from "../../../../worker/core/queue/action-queue.ts";
import { Executor } from "../../../../worker/core/run/executor.ts";
import { openRufio } from "../../../../worker/features/rufio/rufio.ts";
import { Cluster } from "../../../../worker/kubernetes/client/cluster.ts";
import { resolveMachine } from "../../../../worker/machines/resolve-machine.ts";
import { SecretCommands } from "../../../../worker/machines/secret-commands.ts";
import { loadConfig } from "../../../../worker/main/load-config.ts";
import { ownNamespaceOnly, type ReferenceRefusal } from "../../../../worker/policy/reference.ts";
import { InProcessRuntime } from "../../../../worker/runtimes/in-process/in-process-runtime.ts";
import { ownActions } from "../../../../worker/runtimes/process/action-program.ts";
import { ProcessRuntime } from "../../../../worker/runtimes/process/process-runtime.ts";
import { PROGRAM } from "../../../cli/program.ts";
import { quickLibrary } from "../../../support/quick-actions.ts";
import { labMachines } from "../../core/run/executor-lab.ts";

export interface ReplicaOptions {
  /** A file. */
  readonly kubeconfig: string;
  readonly inventoryFile: string;
  readonly stateDirectory: string;
  readonly runtime?: "in-process" | "process";
  readonly statusIntervalMs?: number;
  readonly watchNamespace?: string;
  readonly owns?: (key: string) => boolean;
  readonly clock?: Clock;
  readonly maxReads?: number;
  readonly random?: () => number;
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly hardware?: HardwareOfMachines;
  readonly references?: ReferenceRefusal;
  readonly refusal?: (action: Action, machine: string) => string | undefined;
  readonly missingSecret?: (machine: string) => Promise<string | undefined>;
}

export interface Logged extends Readonly<Record<string, unknown>> {
  readonly level: string;
  readonly msg: string;
}

/** The part of a worker that takes over Rufio's tasks, built like the worker itself. */
export async function startReplica(options: ReplicaOptions, onLog: (line: Logged) => void) {
  const { clock = systemClock, owns = () => true, stateDirectory } = options;
  const keep = (level: string) => (fields: LogFields, msg: string) => onLog({ ...fields, level, msg });
  const log: Logger = { debug: keep("debug"), info: keep("info"), warn: keep("warn"), error: keep("error") };
  const loaded = loadConfig({
    flags: {
      ...{ grpcServer: "127.0.0.1:1", runtime: options.runtime ?? "in-process", stateDirectory },
      ...{
        inventory: options.inventoryFile,
        backoffMaxInterval: "300ms",
        stopGrace: "2s",
        rufio: true,
        rufioAlone: true,
      },
      ...options.flags,
    },
    env: {},
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  if (!config.rufio) throw new Error("the settings have no rufio");
  const { inventory } = config;
  const state = await openStateDirectory(stateDirectory);
  const journal = await Journal.open({ directory: state.journal, kind: actionEntries, clock, log });
  const cluster = await Cluster.open({ kubeconfig: options.kubeconfig, clock, requestTimeoutMs: 10_000 });
  const commands = new SecretCommands();
  const reads: string[] = [];
  const readers = { now: 0, concurrency: 0 };
  const rufio = openRufio({
    ...{ cluster, log, clock, owns, version: "1.2.3" },
    config: { ...config.rufio, statusIntervalMs: options.statusIntervalMs ?? 0 },
    watchNamespace: options.watchNamespace ?? "default",
    machineName: ({ name }) => name,
    async getPower(name, signal) {
      reads.push(name);
      const machine = inventory.find(name);
      if (!machine) throw new Error(`no machine ${name}`);
      readers.now += 1;
      readers.concurrency = Math.max(readers.concurrency, readers.now);
      const client = new BmcClient(await inventory.resolveConnection(machine, { commands, signal }), {
        retriesSilence: false,
      });
      try {
        return await client.getPower(signal);
      } finally {
        readers.now -= 1;
        await client.close();
      }
    },
    hardware: options.hardware,
    references: options.references ?? ownNamespaceOnly,
    refusal: options.refusal ?? (() => undefined),
    missingSecret: options.missingSecret ?? (async () => undefined),
    findsEarlierRuns: false,
    ...(options.random && { random: options.random }),
    ...(options.maxReads !== undefined && { maxReads: options.maxReads }),
  });
  const refuse = async () => undefined;
  const runtime =
    options.runtime === "process"
      ? new ProcessRuntime({
          ...{ programs: ownActions(PROGRAM, quickLibrary), stopGraceMs: 2_000, state },
        })
      : new InProcessRuntime({ actions: quickLibrary, refuse, log, stopGraceMs: 2_000 });
  const observer = observers([rufio.observer], (thrown) => log.error({ thrown }, "observer failed"));
  const executor = new Executor({
    machines: labMachines({ locate: (action) => resolveMachine(action, inventory, "pbnj-{machine}") }),
    isLeading: () => true,
    sourceOf: () => rufio.source,
    maxBackoffMs: 300,
    ...{ runtime, journal, clock, log, observer },
    queue: new ActionQueue(new MachineLocks(), new ActionSlots(50)),
    defaultTimeoutMs: 60_000,
    traceEnvironment: () => ({}),
  });
  const stop = new AbortController();
  const cancel = new AbortController();
  const recovered = executor.recover({ stop: stop.signal, cancel: cancel.signal });
  const parts = [rufio.run(stop.signal), recovered];
  const { agentId } = rufio;
  parts.push(
    runLane(
      {
        agentId,
        source: rufio.source,
        waking: rufio.source.waking,
        async execute(action) {
          const signals = { stop: stop.signal, cancel: cancel.signal };
          return (await executor.execute(action, signals)) !== undefined;
        },
        clock,
        log,
        maxBackoffMs: 300,
        observer: noObserver,
      },
      stop.signal,
    ),
  );
  return {
    rufio,
    cluster,
    /** The inventory's names of the machines whose power was read, in order. */
    reads,
    /** How many were under way at a time. */
    readers,
    async stop(): Promise<void> {
      stop.abort(new Error("stopping"));
      cancel.abort(new Error("stopping"));
      await Promise.all(parts);
      await runtime.close();
      await cluster.close();
      await state.close();
    },
  };
}
