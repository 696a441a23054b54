import { join } from "node:path";
import { version } from "../../../shared/version.ts";
import { type Action, actionKey } from "../../core/action/action.ts";
import { isSettled } from "../../core/action/entry.ts";
import { resolveMachine } from "../../machines/resolve-machine.ts";
import { decide, decideMachine } from "../../policy/decide.ts";
import { heldSource } from "../../sources/held-queue.ts";
import type { FeaturePart, FeatureServices, SharedConfig } from "../feature.ts";
import { PBNJ_AGENT_ID } from "../shared/source-agent-ids.ts";
import { ApiAccess } from "./listener/api-access.ts";
import { type Listener, listen } from "./listener/listen.ts";
import type { PbnjPart } from "./pbnj-settings.ts";
import { type Refusal, Requests } from "./service/requests.ts";
import { pbnjRoutes, SERVICES } from "./service/routes.ts";
import { TaskStore } from "./service/task-store.ts";
import { Tasks } from "./service/tasks.ts";

const STORED_IN_CLUSTER =
  "with the kubernetes runtime, the request's secrets would be stored in the cluster. Fix: name a machine with externalAuthn; for a user's password, use another runtime";

export function openPbnj(services: FeatureServices<SharedConfig & PbnjPart>): readonly FeaturePart[] {
  const { clock, config, log } = services;
  const { journal, observer } = services.control;
  const { state } = services.process;
  if (!config.pbnj) return [];
  const { address, image, files, issuer, audience, allowUnauthenticated } = config.pbnj;
  const access = new ApiAccess({ files, clock, issuer, audience });
  const store = new TaskStore({ directory: join(state.path, "pbnj-tasks"), clock, log });
  const tasks = new Tasks({ store, image, version, clock, log });
  let isStopping = false;
  const requests = new Requests({
    tasks,
    store,
    image,
    version,
    clock,
    log,
    isStopping: () => isStopping,
    refusalOf: (action) => refusalOf(action, services),
    secretsProblem: config.runtime.kind === "kubernetes" ? STORED_IN_CLUSTER : undefined,
  });
  let listener: Listener | undefined;
  const source = heldSource(tasks.queue, tasks, (action) => tasks.cancelOf(action));
  return [
    { kind: "source", agentId: PBNJ_AGENT_ID, source },
    { kind: "observer", observer: tasks.observer },
    { kind: "files", files: access.watchedFiles() },
    {
      kind: "task",
      /** Reads the tasks of an earlier worker and starts to listen. */
      async open() {
        await store.open();
        tasks.resume((action) => {
          const entry = journal.find(actionKey(action));
          return entry !== undefined && !isSettled(entry);
        });
        const terms = { address, access, allowUnauthenticated, clock, log, observer };
        const isServing = () => !isStopping;
        listener = await listen({ ...terms, routes: pbnjRoutes(requests), services: SERVICES, isServing });
        log.info({ url: listener.url }, "serving PBnJ's API");
      },
      /** Clients can ask for tasks until `close`. */
      async run(stop) {
        stop.addEventListener("abort", () => {
          isStopping = true;
        });
        await Promise.all([tasks.run(stop), store.run(stop)]);
      },
      async close() {
        await listener?.close();
      },
    },
  ];
}

/** Judges a task before it is accepted. The executor decides again before the action starts. */
function refusalOf(
  action: Action,
  { config, clock, machines: { inventory }, process: { own }, rules: { policy } }: FeatureServices,
): Refusal | undefined {
  const permission = decide(policy(), { catalogue: own.library, clock }, action);
  if (!permission.allowed) return { kind: "denied", reason: permission.reason };
  const name = action.environment["MACHINE"];
  if (name !== undefined) {
    const machine = inventory.find(name);
    const use = decideMachine(policy(), action, machine ?? { name });
    if (!use.allowed) return { kind: "denied", reason: use.reason };
    if (!machine) return { kind: "not-found", reason: `the inventory has no machine ${name}` };
  }
  const located = resolveMachine(action, inventory, config.agentIdPattern);
  return located.ok ? undefined : { kind: "invalid", reason: located.reason };
}
