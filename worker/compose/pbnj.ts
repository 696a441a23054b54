import { join } from "node:path";
import type { Clock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import { version } from "../../shared/version.ts";
import { type Action, type ActionId, actionKey } from "../action/action.ts";
import type { Observer } from "../action/observer.ts";
import { PBNJ_AGENT_ID } from "../action/source-agent-ids.ts";
import type { PbnjConfig, WorkerConfig } from "../config/worker-config.ts";
import { isSettled } from "../journal/entry.ts";
import type { ActionJournal } from "../journal/journal.ts";
import type { StateDirectory } from "../journal/state-directory.ts";
import type { Inventory } from "../machines/inventory.ts";
import { resolveMachine } from "../machines/resolve-machine.ts";
import type { Catalogue } from "../policy/catalogue.ts";
import { decide, decideMachine } from "../policy/decide.ts";
import type { Policy } from "../policy/policy.ts";
import { ApiAccess } from "../source/pbnj/listener/api-access.ts";
import { type Listener, listen } from "../source/pbnj/listener/listen.ts";
import { type Refusal, Requests } from "../source/pbnj/service/requests.ts";
import { pbnjRoutes, SERVICES } from "../source/pbnj/service/routes.ts";
import { TaskStore } from "../source/pbnj/service/task-store.ts";
import { Tasks } from "../source/pbnj/service/tasks.ts";
import type { ClusterServices } from "./cluster-services.ts";
import { withSource } from "./with-source.ts";

export interface PbnjOptions {
  readonly config: Pick<WorkerConfig, "agentIdPattern" | "runtime">;
  readonly state: Pick<StateDirectory, "path">;
  readonly journal: Pick<ActionJournal, "find">;
  readonly library: Catalogue;
  readonly policy: () => Policy;
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer?: Observer;
}

export type Pbnj = ReturnType<typeof composePbnj>;

const STORED_IN_CLUSTER =
  "with the kubernetes runtime, the request's secrets would be stored in the cluster. Fix: name a machine with externalAuthn; for a user's password, use another runtime";

/** PBnJ's API. Opens nothing yet. */
export function composePbnj(served: PbnjConfig, options: PbnjOptions) {
  const { address, image, files, issuer, audience, allowUnauthenticated } = served;
  const { config, state, journal, clock, log, observer } = options;
  const access = new ApiAccess({
    files,
    clock,
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  });
  const store = new TaskStore({ directory: join(state.path, "pbnj-tasks"), clock, log });
  const tasks = new Tasks({ store, image, version, clock, log });
  let isStopping = false;
  const requests = new Requests({
    ...{ tasks, store, image, version, clock, log },
    isStopping: () => isStopping,
    refusalOf: (action) => refusalOf(action, options),
    secretsProblem: config.runtime.kind === "kubernetes" ? STORED_IN_CLUSTER : undefined,
  });
  let listener: Listener | undefined;
  return {
    tasks,
    watchedFiles: access.watchedFiles(),
    /** Reads the tasks of an earlier worker and starts to listen. Rejects with one line. */
    async open(): Promise<void> {
      await store.open();
      tasks.resume((action) => isUnfinished(journal, action));
      const terms = { address, access, allowUnauthenticated, clock, log, ...defined({ observer }) };
      const isServing = () => !isStopping;
      listener = await listen({ ...terms, routes: pbnjRoutes(requests), services: SERVICES, isServing });
      log.info({ url: listener.url }, "serving PBnJ's API");
    },
    /** Until the signal aborts; tasks can then still be asked for, until `close`. */
    async run(stop: AbortSignal): Promise<void> {
      stop.addEventListener("abort", () => {
        isStopping = true;
      });
      await Promise.all([tasks.run(stop), store.run(stop)]);
    },
    async close(): Promise<void> {
      await listener?.close();
    },
  };
}

/** The services of a worker with PBnJ's API as another source of actions. */
export function withPbnj(services: ClusterServices, pbnj: Pbnj, log: Logger): ClusterServices {
  const { tasks } = pbnj;
  return withSource(
    services,
    {
      ...{ agentId: PBNJ_AGENT_ID, source: tasks.queue, sink: tasks, observer: tasks.observer },
      cancelOf: (action) => tasks.cancelOf(action),
      open: () => pbnj.open(),
      run: (stop) => pbnj.run(stop),
      close: () => pbnj.close(),
    },
    log,
  );
}

/** Before a task is accepted; the executor decides again when the action is to start. */
function refusalOf(
  action: Action,
  { config, policy, library, inventory }: Pick<PbnjOptions, "config" | "inventory" | "library" | "policy">,
): Refusal | undefined {
  const permission = decide(policy(), library, action);
  if (!permission.allowed) return { kind: "denied", reason: permission.reason };
  const machine = action.environment["MACHINE"];
  if (machine !== undefined) {
    const use = decideMachine(policy(), action, machine);
    if (!use.allowed) return { kind: "denied", reason: use.reason };
    if (!inventory.find(machine)) {
      return { kind: "not-found", reason: `the inventory has no machine ${machine}` };
    }
  }
  const located = resolveMachine(action, inventory, config.agentIdPattern);
  return located.ok ? undefined : { kind: "invalid", reason: located.reason };
}

function isUnfinished(journal: Pick<ActionJournal, "find">, action: ActionId): boolean {
  const entry = journal.find(actionKey(action));
  return entry !== undefined && !isSettled(entry);
}
