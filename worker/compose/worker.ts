import { type Clock, systemClock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import { noObserver, type Observer, observers } from "../action/observer.ts";
import { DRIFT_AGENT_ID, PBNJ_AGENT_ID, RUFIO_AGENT_ID } from "../action/source-agent-ids.ts";
import { reloadFiles, type WatchedFile } from "../config/reload.ts";
import type { WorkerConfig } from "../config/worker-config.ts";
import { readTextFile } from "../document/read-text-file.ts";
import type { TraceEnvironment } from "../execution/executor-options.ts";
import type { HardwareStore } from "../hardware/hardware-store.ts";
import type { ActionJournal } from "../journal/journal.ts";
import type { StateDirectory } from "../journal/state-directory.ts";
import { type LaneControl, Worker } from "../lanes/worker.ts";
import { AuthGate } from "../machines/auth-gate.ts";
import { SecretCommands } from "../machines/secret-commands.ts";
import { tenantOf } from "../policy/tenant-rule.ts";
import { connectServer } from "../source/server/connect-server.ts";
import { noServer } from "../source/server/no-server.ts";
import type { AgentHardware } from "../source/tink/tink-transport.ts";
import { ActionSlots } from "../turns/turns.ts";
import { laneFields } from "./change-fields.ts";
import { type ServiceOptions, withoutCluster } from "./cluster-services.ts";
import { composeDrift } from "./drift.ts";
import { composeExecutor, policyRefusal, referenceRefusal } from "./execution.ts";
import { agentHardware, composeHardware } from "./hardware.ts";
import { logFailure } from "./observability.ts";
import { composePbnj, withPbnj } from "./pbnj.ts";
import { RuleFiles } from "./rule-files.ts";
import { composeRuntime, type RuntimeOptions } from "./runtime.ts";

const OWN_AGENT_IDS: ReadonlySet<string> = new Set([RUFIO_AGENT_ID, PBNJ_AGENT_ID, DRIFT_AGENT_ID]);

export interface WorkerOptions extends Pick<RuntimeOptions, "log" | "own" | "env" | "cluster"> {
  readonly state: StateDirectory;
  readonly journal: ActionJournal;
  readonly clock?: Clock;
  readonly observer?: Observer;
  readonly traceEnvironment?: TraceEnvironment;
  /** Besides inventory and policy. */
  readonly watchedFiles?: readonly WatchedFile[];
}

/** Builds the worker of `pbnj-worker start` and `serve`. Opens nothing yet. */
export function composeWorker(config: WorkerConfig, options: WorkerOptions): Worker {
  const { log, own, env, state, journal, clock = systemClock, cluster, watchedFiles = [] } = options;
  const { library } = own;
  const maxBackoffMs = config.backoffMaxIntervalMs;
  const rules = new RuleFiles(config, env);
  const policy = () => rules.policy;
  // The machines of a cluster are opened after the server.
  let hardwareSource: AgentHardware | undefined;
  const server =
    config.server &&
    connectServer({
      ...{ ...config.server, clock, log, maxBackoffMs },
      hardware: {
        of: (agentId) => hardwareSource?.of(agentId),
        awaited: (agentId) => hardwareSource?.awaited(agentId),
      },
    });
  const transport = server ?? noServer;
  const leadership = cluster?.leadership(clock, log);
  const isLeading = leadership && (() => leadership.isLeading);
  const base = composeRuntime(config, { log, own, state, policy, cluster, ...defined({ env, isLeading }) });
  const authGate = new AuthGate(clock);
  const secretCommands = new SecretCommands();
  const serviceOptions: ServiceOptions = {
    leadership,
    config,
    file: rules.inventory,
    transport,
    state,
    library,
    authGate,
    secretCommands,
    references: referenceRefusal(policy),
    refusal: (action, machine) => policyRefusal(action, machine, { policy, catalogue: library }),
    hardware: () => hardware,
    clock,
    log,
  };
  let hardware: HardwareStore | undefined;
  const found = cluster ? cluster.services(serviceOptions) : withoutCluster(serviceOptions);
  const { inventory, locks } = found;
  if (config.agentAttributes || config.kubernetes?.rufio?.hardware) {
    hardware = composeHardware({
      ...{ inventory, locks, library, authGate, secretCommands, policy, clock, log },
      ...{ maxAgeMs: config.hardwareMaxAgeMs, observer: options.observer },
    });
  }
  if (hardware && config.agentAttributes)
    hardwareSource = agentHardware(hardware, inventory, config.agentIdPattern);
  const pbnj =
    config.pbnj &&
    composePbnj(config.pbnj, {
      ...{ config, state, journal, library, policy, inventory, clock, log },
      ...defined({ observer: options.observer }),
    });
  const withRequests = pbnj ? withPbnj(found, pbnj, log) : found;
  const drift = composeDrift(config, withRequests, {
    ...{ library, authGate, secretCommands, clock, log },
    onCompared: (machine) => options.observer?.compared(machine),
  });
  const services = drift?.services ?? withRequests;
  const runtime = cluster?.withHosts(base, { config, inventory, library, log, state }) ?? base;
  const observer = observers(
    [options.observer ?? noObserver, services.observer, hardware?.observer ?? {}],
    logFailure(log),
  );
  const slots = new ActionSlots(config.maxActions, {
    tenants: () => policy().tenants?.length ?? 0,
    tenantOf: (workflowId) => tenantOf({ workflowId }, policy().tenants),
  });
  const executor = composeExecutor(config, {
    catalogue: library,
    inventory,
    policy,
    sink: {
      report: (status, signal) => services.sinkOf(status.action).report(status, signal),
      isGone: async (running, signal) =>
        (await services.sinkOf(running.action).isGone?.(running, signal)) ?? false,
      isUnavailable: (action) => services.sinkOf(action).isUnavailable?.(action) ?? false,
    },
    seesDeletion: (action) => services.seesDeletion?.(action) ?? false,
    runtime,
    slots,
    locks,
    authGate,
    secretCommands,
    ...defined({ isLeading }),
    // The sources inside a worker have their own records.
    isShared: ({ agentId }) => leadership !== undefined && !OWN_AGENT_IDS.has(agentId),
    cancelOf: (action) => services.cancelOf(action),
    journal,
    log,
    clock,
    observer,
    ...defined({ traceEnvironment: options.traceEnvironment }),
  });
  const reloadRules = async (lanes: LaneControl, stop: AbortSignal) => {
    const { reloadIntervalMs: intervalMs } = config;
    if (intervalMs === 0) return;
    const ruleFiles = rules.watched({
      machinesChanged() {
        return laneFields(lanes.setAgentIds(services.agentIds()));
      },
      inventoryTouched() {
        if (authGate.retryNow()) log.info({}, "inventory file touched, retrying refused credentials");
      },
    });
    const files = [...ruleFiles, ...watchedFiles, ...(pbnj?.watchedFiles ?? [])];
    await reloadFiles({ files, intervalMs, readFile: readTextFile, clock, log, observer }, stop);
  };
  const reload = async (lanes: LaneControl, stop: AbortSignal) => {
    await Promise.all([reloadRules(lanes, stop), hardware?.run(stop)]);
  };
  return new Worker({
    services,
    reload,
    ...defined({ leadership }),
    transport,
    runtime,
    executor,
    observer,
    facts: {
      machines: () => inventory.machines().map(({ name }) => name),
      bmcAddress: (name) => inventory.bmcAddress?.(name),
      machineOrigin: (name) => inventory.origin?.(name),
      agentIds: () => (leadership?.isLeading === false ? [] : services.agentIds()),
      slots: () => slots,
      ...(drift && { machineDrift: (name: string) => drift.watch.find(name) }),
      ...(hardware && { hardwareKnown: () => hardware.size }),
      unfinished: () => journal.unfinished().length,
      checkRuntime: (signal) => runtime.check(signal),
      ...defined({ connected: server?.connected, cluster: found.facts?.bind(found) }),
    },
    clock,
    log,
    maxBackoffMs,
    shutdownGraceMs: config.shutdownGraceMs,
  });
}
