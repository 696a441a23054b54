import type { Clock } from "../../shared/clock.ts";
import { type IpmiBmc, type IpmiBmcOptions, startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../simulators/machine.ts";
import { type RedfishBmc, type RedfishBmcOptions, startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { startTinkServer, type TinkServerOptions } from "../../simulators/tink/server.ts";
import { isOver, type Workflow } from "../../simulators/tink/workflow.ts";
import type { WorkflowServer } from "../../simulators/tink/workflow-server.ts";
import { startLegacyTinkServer } from "../../simulators/tink-legacy/server.ts";
import { openFolder } from "./folder.ts";
import { standingWorker } from "./standing-worker.ts";

/** An action of a template; its image is this project's own of that name, unless it is given. */
export interface Step {
  readonly name: string;
  readonly image?: string;
  /** Another agent ID than the template's: the steps before and after it are tasks of their own. */
  readonly worker?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly volumes?: readonly string[];
  readonly pid?: string;
  readonly onTimeout?: readonly string[];
  readonly onFailure?: readonly string[];
  /** In seconds. */
  readonly timeout?: number;
}

const OWN_IMAGES = "registry.example/pbnj-worker";

/** A template with one task for each run of steps of the same agent ID. */
export function templateOf(agentId: string, ...steps: readonly Step[]): string {
  const tasks: { name: string; worker: string; actions: object[] }[] = [];
  for (const { worker = agentId, onTimeout, onFailure, ...step } of steps) {
    if (tasks.at(-1)?.worker !== worker)
      tasks.push({ name: `task-${tasks.length + 1}`, worker, actions: [] });
    const usual = { image: `${OWN_IMAGES}/${step.name}:v1`, timeout: 60, environment: {} };
    const hooks = { "on-timeout": onTimeout, "on-failure": onFailure };
    tasks.at(-1)?.actions.push({ ...usual, ...step, ...hooks });
  }
  return JSON.stringify({ version: "0.1", name: "t", global_timeout: 600, tasks });
}

type Provider = "redfish" | "ipmi";

/** At once where a test needs no wait: an action looks again after half a second only. */
const QUICK = { powerOnMs: 0, powerOffMs: 0, softOffMs: 0 };

interface LabMachine extends SimulatedMachineOptions {
  /** Which BMCs it has; the lab's when absent. */
  readonly providers?: readonly Provider[];
  readonly bmc?: RedfishBmcOptions;
}

export interface RackOptions {
  /** By name; `node-01` alone when absent. */
  readonly machines?: Readonly<Record<string, LabMachine>>;
  /** Machines that are in the inventory at first. Default: all. */
  readonly known?: readonly string[];
  readonly providers?: readonly Provider[];
  /** Options of every BMC. */
  readonly bmc?: RedfishBmcOptions;
  readonly ipmi?: Partial<IpmiBmcOptions>;
  readonly username?: string;
  readonly password?: string;
  /** Options of every connection over Redfish. */
  readonly redfish?: Readonly<Record<string, unknown>>;
  /** What the inventory says of every machine besides. */
  readonly entry?: Readonly<Record<string, unknown>>;
  /** The inventory's entries of further machines, or others than the simulated ones have. */
  readonly entries?: Readonly<Record<string, object>>;
}

/** Machines behind simulated BMCs on loopback, and a folder with their inventory, which goes away with them. */
export async function openRack({
  machines = { "node-01": {} },
  providers = ["redfish"],
  username = "admin",
  password = "calvin",
  entry = {},
  ...options
}: RackOptions = {}) {
  await using opening = new AsyncDisposableStack();
  const base = opening.use(await openFolder());
  const { path, write, own, defer } = base;
  const passwordFile = path("password");
  const inventoryFile = path("inventory.yaml");

  const simulated = new Map<string, SimulatedMachine>();
  const bmcs = new Map<string, RedfishBmc>();
  const ipmiBmcs = new Map<string, IpmiBmc>();
  const entries = new Map<string, object>();
  for (const [name, { providers: its = providers, bmc, ...machineOptions }] of Object.entries(machines)) {
    const machine = new SimulatedMachine({ name, ...QUICK, ...machineOptions });
    defer(() => machine.close());
    simulated.set(name, machine);
    if (its.includes("redfish")) {
      const usual = { machines: [machine], tls: "http", username, password } as const;
      bmcs.set(name, own(await startRedfishBmc({ ...usual, ...options.bmc, ...bmc })));
    }
    if (its.includes("ipmi")) {
      const users = [{ name: username, password, privilege: "administrator" as const }];
      ipmiBmcs.set(name, own(await startIpmiBmc({ machine, users, ...options.ipmi })));
    }
    const redfish = bmcs.get(name);
    entries.set(name, {
      ...{ host: "127.0.0.1", providers: its },
      ...(redfish && {
        redfish: {
          port: redfish.port,
          scheme: redfish.certificate ? "https" : "http",
          ...options.redfish,
        },
      }),
      ...(redfish?.certificate && { tls: { fingerprint: redfish.fingerprint } }),
      ...(its.includes("ipmi") && {
        ipmi: { port: ipmiBmcs.get(name)?.port, privilege: "administrator" },
      }),
      ...entry,
    });
  }
  for (const [name, entry] of Object.entries(options.entries ?? {}))
    entries.set(name, { host: "127.0.0.1", ...entry });

  /** The inventory with these machines; one may have another name than its own: `name=machine`. */
  const inventoryOf = (names: readonly string[] = [...entries.keys()]) => ({
    defaults: { credentials: { username, passwordFile } },
    machines: names.map((each) => {
      const [name = "", machine = name] = each.split("=");
      return { name, ...entries.get(machine) };
    }),
  });
  await write("password", `${password}\n`);
  await write("inventory.yaml", inventoryOf(options.known));

  opening.move();
  return {
    ...base,
    passwordFile,
    inventoryFile,
    inventoryOf,
    writeInventory: (...names: readonly string[]) => write("inventory.yaml", inventoryOf(names)),
    machines: [...simulated.values()],
    bmcs: [...bmcs.values()],
    /** That machine, or the first one. */
    machine: (name?: string) => found(simulated, name),
    bmc: (name?: string) => found(bmcs, name),
    ipmi: (name?: string) => found(ipmiBmcs, name),
  };
}

export interface LabOptions extends RackOptions {
  readonly server?: TinkServerOptions;
  /** Further arguments of `pbnj-worker start`. */
  readonly argv?: readonly string[];
  readonly policy?: string | object;
}

/** A rack and a tink server. */
export const openLab = async ({ server, ...options }: LabOptions = {}) =>
  labOf(await startTinkServer({ holdMs: 2_000, ...server }), options);

/** A rack and a server of the deprecated API; workers on it are `pbnj`. */
export const openLegacyLab = async (options: Omit<LabOptions, "server"> = {}) =>
  labOf(await startLegacyTinkServer(), { argv: ["--agent-id", "pbnj"], ...options });

/** A rack, a tink server, and a worker inside this process that serves both. */
export async function workingLab({ clock, ...options }: LabOptions & { readonly clock?: Clock } = {}) {
  const lab = await openLab(options);
  const worker = await lab.start([], { ...(clock && { clock }) });
  return {
    ...lab,
    worker,
    /** The lines of its log with that message. */
    said: (message: string) => worker.log.filter(({ msg }) => msg === message),
  };
}

async function labOf<Server extends WorkflowServer>(
  server: Server,
  { policy, argv = [], ...options }: Omit<LabOptions, "server">,
) {
  const rack = await openRack(options);
  rack.own(server);
  const usual = [
    ...["start", "--grpc-server", server.address, "--inventory", rack.inventoryFile],
    ...["--state-directory", rack.path("state"), "--reload-interval", "100ms"],
    ...["--backoff-max-interval", "300ms", "--stop-grace", "2s"],
    // The server's workflows are in no cluster, which would never show one to poll for.
    ...["--wake-up", "off"],
  ];
  if (policy !== undefined) usual.push("--policy", await rack.write("policy.yaml", policy));

  const lab = {
    ...rack,
    server,
    /** For `pbnj-worker start`; what comes later counts. */
    argv: (...more: readonly string[]): readonly string[] => [...usual, ...argv, ...more],
    writePolicy: (text: string | object) => rack.write("policy.yaml", text),
    /** A worker inside this process, which reads the files as soon as they change. */
    start: async (more: readonly string[] = [], about: { readonly clock?: Clock } = {}) =>
      rack.own(await standingWorker(lab.argv(...more), about)),
    submit: (agentId: string, ...steps: readonly Step[]): Workflow =>
      server.submit({ template: templateOf(agentId, ...steps) }),
    /** Submits a workflow under a name; the server replaces an earlier workflow with this name. */
    submitAs(
      names: { readonly namespace?: string; readonly name?: string },
      agentId: string,
      ...steps: readonly Step[]
    ) {
      return server.submit({ ...names, template: templateOf(agentId, ...steps) });
    },
    untilOver: (...workflows: readonly Workflow[]) => server.until(() => workflows.every(isOver)),
  };
  return lab;
}

export type Lab = Awaited<ReturnType<typeof openLab>>;
export type LegacyLab = Awaited<ReturnType<typeof openLegacyLab>>;

/** The message of the last action that said something. */
export function messageOf({ tasks }: Workflow): string {
  const actions = tasks.flatMap(({ actions }) => actions);
  return actions.findLast(({ message }) => message !== "")?.message ?? "";
}

function found<T>(all: ReadonlyMap<string, T>, name = all.keys().next().value ?? ""): T {
  const one = all.get(name);
  if (one === undefined) throw new Error(`the lab has no ${name}`);
  return one;
}
