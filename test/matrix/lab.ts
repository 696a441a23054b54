import { systemClock } from "../../shared/clock.ts";
import { startAmtDevice } from "../../simulators/amt/device.ts";
import { createCertificate } from "../../simulators/certificate.ts";
import { startHomeAssistant } from "../../simulators/homeassistant/server.ts";
import { startIronic } from "../../simulators/ironic/server.ts";
import { type PowerAction, SimulatedMachine } from "../../simulators/machine.ts";
import type { RedfishBmc } from "../../simulators/redfish/bmc.ts";
import { simulatedDrive } from "../../simulators/redfish/storage.ts";
import { startRpcConsumer } from "../../simulators/rpc/consumer.ts";
import type { WebServer } from "../../simulators/web-server.ts";
import { ActionRun } from "../actions/action-run.ts";
import { sampleInput } from "../actions/sample-input.ts";
import { CANARY, subjectLab } from "../actions/subject-lab.ts";
import { foundIn } from "../shared/bmc/canary/traces.ts";
import { openFolder } from "../support/folder.ts";
import { HttpFaults, type HttpWords, httpFaults } from "./http-faults.ts";
import { IpmiFaults, ipmiFaults } from "./ipmi-faults.ts";
import {
  knownPasswords,
  type MachineState,
  stateOfIpmi,
  stateOfMachine,
  stateOfRedfish,
} from "./machine-state.ts";
import { movesAt } from "./moves.ts";
import type { MatrixSubject } from "./variants.ts";
import type { Way } from "./ways.ts";

type Environment = Readonly<Record<string, string>>;

/** One answer, by its number from 1, and what is wrong with it. */
export interface CellFault {
  readonly at: number;
  readonly name: string;
}

/** Something that was done to a machine, or tried. */
export interface Deed {
  readonly key: string;
  readonly isDone: boolean;
  readonly atMs: number;
}

/** A machine, the servers in front of it, and an action that is ready to run. */
export interface MatrixLab extends AsyncDisposable {
  /** With these variables beside its example. */
  start(env: Environment): ActionRun;
  /** What the answers that the faulty provider gave until now can have, in order. */
  faults(): readonly (readonly string[])[];
  /** The request that had the fault. */
  hit(): string | undefined;
  state(): Promise<MachineState>;
  deeds(): readonly Deed[];
  /** Secrets that a text shows. */
  leaks(text: string): readonly string[];
}

function soapFault(code: "Sender" | "Receiver"): string {
  const fault = `<a:Fault><a:Code><a:Value>a:${code}</a:Value></a:Code><a:Reason><a:Text>failed</a:Text></a:Reason></a:Fault>`;
  return `<a:Envelope xmlns:a="http://www.w3.org/2003/05/soap-envelope"><a:Body>${fault}</a:Body></a:Envelope>`;
}

/** What Base registries say with these statuses. */
const MESSAGES: Readonly<Record<number, string>> = {
  400: "ActionParameterValueNotInList",
  401: "AccessDenied",
  403: "InsufficientPrivilege",
  404: "ResourceMissingAtURI",
  405: "OperationNotAllowed",
  409: "ResourceInUse",
  501: "ActionNotSupported",
};

function errorOf(name = "InternalError"): string {
  const message = { MessageId: `Base.1.8.${name}`, Message: "The request failed.", Severity: "Critical" };
  const general = { code: "Base.1.8.GeneralError", message: "A general error has occurred." };
  return JSON.stringify({ error: { ...general, "@Message.ExtendedInfo": [message] } });
}

const REDFISH: HttpWords = {
  errorObject: errorOf(),
  refusal: (status) => errorOf(MESSAGES[status]),
  hasTasks: true,
  readsOnly: (method) => method === "GET",
};
const SERVICES: Readonly<Record<"amt" | "rpc" | "ironic" | "homeassistant", HttpWords>> = {
  amt: {
    // WS-Man comes with 400 and 500 alone (DSP0226 section 14).
    refusal: (status) => (status === 400 ? soapFault("Sender") : status === 500 ? soapFault("Receiver") : ""),
    errorObject: soapFault("Receiver"),
    hasTasks: false,
    readsOnly: () => false,
  },
  rpc: {
    errorObject: JSON.stringify({ id: 1, host: "node-01", error: { code: 500, message: "failed" } }),
    hasTasks: false,
    readsOnly: () => false,
  },
  ironic: {
    errorObject: JSON.stringify({ error_message: { faultstring: "failed", faultcode: "Server" } }),
    hasTasks: false,
    readsOnly: (method) => method === "GET",
  },
  homeassistant: {
    errorObject: JSON.stringify({ message: "failed" }),
    hasTasks: false,
    readsOnly: (method) => method === "GET",
  },
};

/** Times that real machines take. */
const REAL_TIMES = { powerOnMs: 3_000, powerOffMs: 2_000, softOffMs: 8_000, cycleOffMs: 5_000 };
const TASK_MS = 3_000;
/** The BMC's before another one is installed; always the same, so that runs can be compared. */
const OLD_CERTIFICATE = createCertificate({ commonName: "simulator", altNames: ["127.0.0.1"] });
const LOG_RECORD = Buffer.from("0000020000000020000401ff6f0100ff", "hex");
const IPMI_RESET = /^(Cold|Warm) Reset$/;

type BmcLab = Awaited<ReturnType<typeof subjectLab>>;

/** What a machine must have so that the example of an action has something to do. */
const PREPARATIONS: Readonly<Record<string, (lab: BmcLab) => void>> = {
  "clear-raid": ({ redfish }) =>
    void redfish.storage.add({ name: "os", level: "RAID1", drives: ["0", "1"], bytes: 960e9 }),
  "eject-virtual-media": ({ redfish }) => {
    const drive = redfish.media.slots.find(({ types }) => types.includes("CD"));
    Object.assign(drive ?? {}, { inserted: true, image: "http://192.0.2.9/rescue.iso" });
  },
  "clear-sel": ({ redfish, ipmi }) => {
    redfish.sel.add("OK", "Power on.", "2026-03-01T08:00:00Z");
    ipmi.events.add(LOG_RECORD);
  },
};

/** An override is in objects of each protocol's own: it must come from there to be cleared there. */
async function prepare(action: string, env: Environment): Promise<void> {
  if (action !== "clear-boot-override") return;
  await new ActionRun("set-pxe-once", { env: { ...env, MODE: "keep" }, clock: systemClock }).ended;
}

export function openMatrixLab(subject: MatrixSubject, way: Way, fault?: CellFault): Promise<MatrixLab> {
  switch (way) {
    case "basic":
    case "session":
    case "ipmi-behind":
    case "moved":
    case "ipmi":
      return bmcLab(subject, way, fault);
    default:
      return serviceLab(subject, way, fault);
  }
}

async function bmcLab(
  subject: MatrixSubject,
  way: "basic" | "session" | "ipmi-behind" | "moved" | "ipmi",
  fault: CellFault | undefined,
): Promise<MatrixLab> {
  const tls = subject.needed.includes("https") ? OLD_CERTIFICATE : "http";
  const options = { power: subject.power, ...REAL_TIMES };
  const other = { name: "other", uuid: "4c4c4544-0000-1000-8000-b4c04f303033", serialNumber: "CZ00000002" };
  const two = [
    new SimulatedMachine({ ...options, name: "node-01" }),
    new SimulatedMachine({ ...options, ...other }),
  ];
  const lab = await subjectLab(subject, {
    machine: REAL_TIMES,
    redfish: { tls, ...(way === "moved" && { machines: two }) },
    ipmi: { sol: [1] },
  });
  const { redfish, ipmi } = lab;
  const { machine, machines } = redfish;
  redfish.update.taskMs = TASK_MS;
  for (const storage of redfish.storages) storage.taskMs = TASK_MS;
  PREPARATIONS[subject.name]?.(lab);
  await prepare(subject.name, { ...lab.env(...PROVIDERS[way]), BMC_PASSWORD: CANARY });
  if (way === "moved") addOthers(redfish);
  const deeds: Deed[] = [];
  for (const each of machines) watchPower(each, deeds, each === machine ? "" : "other machine: ");
  const http = new HttpFaults(redfish, REDFISH, way === "ipmi" ? undefined : fault);
  const packets = new IpmiFaults(ipmi, way === "ipmi" ? fault : undefined);
  const resets = () => packets.writes.filter((name) => IPMI_RESET.test(name)).map(() => done("bmc reset"));
  return {
    start: (env) =>
      lab.start(
        PROVIDERS[way],
        { ...environment(subject.name, way, redfish), ...placed(subject.variables, lab.folder), ...env },
        [],
        systemClock,
      ),
    faults() {
      if (way === "ipmi") return packets.names.map(ipmiFaults);
      if (way === "moved") return http.requests.map((_, index) => movesAt(http.requests, index + 1));
      return http.methods.map((method) => httpFaults(method, REDFISH));
    },
    hit: () => http.hit ?? packets.hit,
    async state() {
      const secrets = Object.fromEntries(lab.secrets.map((secret, index) => [`secret ${index + 1}`, secret]));
      const known = await knownPasswords(lab.folder, { own: CANARY, another: ANOTHER, ...secrets });
      return {
        ...stateOfMachine(machine),
        ...(way === "moved" && { others: machines.slice(1).map(stateOfMachine) }),
        ...stateOfRedfish(redfish, known),
        ...stateOfIpmi(ipmi, known),
      };
    },
    deeds: () => [...deeds, ...redfishDeeds(http), ...resets()],
    leaks: (text) => lab.leaks({ stdout: text, stderr: "" }),
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
}

const PROVIDERS = {
  basic: ["redfish"],
  session: ["redfish"],
  "ipmi-behind": ["redfish", "ipmi"],
  moved: ["redfish"],
  ipmi: ["ipmi"],
} as const;
/** The password of the example's user, where it exists already. */
const ANOTHER = "another-4c81";

/** What the example does not say: how to log in, and, where things move, which one is meant. */
function environment(action: string, way: Way, redfish: RedfishBmc): Environment {
  if (way === "session") return { REDFISH_AUTH: "session" };
  const [system = ""] = redfish.systemPaths;
  return way === "moved" ? { REDFISH_SYSTEM: system, ...NAMED[action] } : {};
}

function placed(variables: Environment, folder: string): Environment {
  const put = ([name, value]: [string, string]) => [name, value.replace("{folder}", folder)];
  return Object.fromEntries(Object.entries(variables).map(put));
}

/** Inputs that name a thing and not its place. */
const NAMED: Readonly<Record<string, Environment>> = {
  "erase-drives": { DRIVES: "DISK-0" },
  "delete-secure-boot-key": { KEY: "b".repeat(64) },
};

/** Others of the kind that an action names. */
function addOthers({ accounts, storages }: RedfishBmc): void {
  accounts.add({ name: "guest", password: ANOTHER, role: "ReadOnly", enabled: true });
  for (const storage of storages) {
    for (const id of ["2", "3"]) storage.drives.set(id, simulatedDrive({ media: "HDD" }));
    if (storage.volumes.size > 0)
      storage.add({ name: "data", level: "RAID1", drives: ["2", "3"], bytes: 480e9 });
  }
}

/** Power commands of all protocols, as the machine sees them. */
function watchPower(machine: SimulatedMachine, deeds: Deed[], whose = ""): void {
  const carryOut = machine.do.bind(machine);
  machine.do = (action: PowerAction) => {
    const isMoving = machine.power.startsWith("powering");
    const isDone = carryOut(action);
    // What is asked for again while it comes about is no second time.
    if (isDone || !isMoving) deeds.push({ key: `${whose}power ${action}`, isDone, atMs: Date.now() });
    return isDone;
  };
}

const done = (key: string): Deed => ({ key, isDone: true, atMs: 0 });

/** Creations, deletions and actions. Settings may be written twice, and power is watched at the machine. */
function redfishDeeds({ writes }: HttpFaults): readonly Deed[] {
  return writes
    .filter(
      ({ method, path }) =>
        method !== "PATCH" && !/\/(Sessions\b|Actions\/ComputerSystem\.Reset$)/.test(path),
    )
    .flatMap(({ method, path, status }) => {
      if (status === undefined) return [];
      const key = /Manager\.Reset$/.test(path) ? "bmc reset" : `${method} ${path}`;
      return { key, isDone: status < 300, atMs: 0 };
    });
}

interface Service {
  readonly http: WebServer;
  readonly env: Environment;
  readonly close: () => Promise<void>;
  readonly own: () => MachineState;
}

const SECRET = "canary-sv-3c9d10";

async function serviceLab(
  { name, power, variables }: MatrixSubject,
  way: keyof typeof SERVICES,
  fault: CellFault | undefined,
): Promise<MatrixLab> {
  const folder = await openFolder();
  const machine = new SimulatedMachine({ power, ...REAL_TIMES });
  const service = await startService(way, machine, name);
  folder.defer(service.close);
  const { env: own, secrets } = await sampleInput(name, folder.folder);
  const env = { BMC_HOST: "127.0.0.1", BMC_PROVIDERS: way, MACHINE: "node-01", ...service.env, ...own };
  await prepare(name, env);
  const deeds: Deed[] = [];
  watchPower(machine, deeds);
  const http = new HttpFaults(service.http, SERVICES[way], fault);
  return {
    start: (given) =>
      new ActionRun(name, {
        env: { ...env, ...placed(variables, folder.folder), ...given },
        clock: systemClock,
      }),
    faults: () => http.methods.map((method) => httpFaults(method, SERVICES[way])),
    hit: () => http.hit,
    state: async () => ({ ...stateOfMachine(machine), ...service.own() }),
    deeds: () => deeds,
    leaks: (text) => foundIn(text, [SECRET, ...secrets]),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

async function startService(
  way: keyof typeof SERVICES,
  machine: SimulatedMachine,
  action: string,
): Promise<Service> {
  const image = action === "eject-virtual-media" ? "http://192.0.2.9/rescue.iso" : null;
  switch (way) {
    case "amt": {
      const device = await startAmtDevice({ machine, password: SECRET, tls: "http" });
      const env = {
        BMC_USERNAME: "admin",
        BMC_PASSWORD: SECRET,
        AMT_SCHEME: "http",
        AMT_PORT: String(device.http.port),
      };
      return { http: device.http, env, close: () => device.close(), own: () => ({}) };
    }
    case "rpc": {
      const consumer = await startRpcConsumer({
        machines: { "node-01": machine, "127.0.0.1": machine },
        tls: "http",
      });
      consumer.media = image ?? "";
      const own = () => ({ media: consumer.media });
      return { http: consumer.http, env: { RPC_URL: consumer.http.url }, close: () => consumer.close(), own };
    }
    case "homeassistant": {
      const home = await startHomeAssistant({ machine, token: SECRET, tls: "http" });
      const env = {
        BMC_PASSWORD: SECRET,
        HOMEASSISTANT_URL: home.http.url,
        HOMEASSISTANT_ENTITY: home.entity,
      };
      return { http: home.http, env, close: () => home.close(), own: () => ({}) };
    }
    default: {
      const login = { username: "admin", password: SECRET };
      const ironic = await startIronic({
        auth: "keystone",
        login,
        machines: { "node-1": machine },
        tls: "http",
      });
      const { url } = ironic.http;
      ironic.node().image = image;
      const env = {
        ...{ BMC_USERNAME: "admin", BMC_PASSWORD: SECRET, IRONIC_URL: url, IRONIC_NODE: "node-1" },
        ...{ IRONIC_AUTH: "password", IRONIC_KEYSTONE_URL: url },
      };
      return {
        http: ironic.http,
        env,
        close: () => ironic.close(),
        own: () => ({ media: ironic.node().image }),
      };
    }
  }
}
