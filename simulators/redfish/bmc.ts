import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { isLoopback, SimulatedMachine } from "../machine.ts";
import { WebServer, type WebServerTls } from "../web-server.ts";
import { Accounts } from "./accounts.ts";
import {
  type Answer,
  methodNotAllowed,
  noContent,
  notFound,
  ok,
  preconditionFailed,
  refusal,
} from "./answer.ts";
import { SimulatedBios } from "./bios.ts";
import { SimulatedBiosRegistry } from "./bios-registry.ts";
import { isBootOrderPatch, patchBootOrder, SimulatedBootOptions } from "./boot-options.ts";
import { patchBoot } from "./boot-override.ts";
import { SimulatedCertificates } from "./certificates.ts";
import { CHASSIS, SimulatedChassis } from "./chassis.ts";
import { sendCollection } from "./collections.ts";
import { checkIfMatch, withTag } from "./etag.ts";
import { type Fault, FaultQueue } from "./faults.ts";
import { SimulatedInventory } from "./inventory.ts";
import { Logs } from "./logs.ts";
import { SimulatedManager } from "./manager.ts";
import { VirtualDrives } from "./media.ts";
import { Moves } from "./moves.ts";
import { SimulatedInterfaces } from "./network.ts";
import { odataDocument } from "./odata.ts";
import { type RedfishProfile, redfishProfile } from "./profiles.ts";
import { reset } from "./reset.ts";
import type { ResourceRequest, ResourceService, WholeTree } from "./resource-service.ts";
import {
  MANAGERS,
  pendingResource,
  ROOT,
  resetActionInfo,
  SYSTEMS,
  staticResources,
  systemResource,
} from "./resources.ts";
import { SimulatedSecureBoot } from "./secure-boot.ts";
import { SESSIONS, SessionSlots } from "./sessions.ts";
import { SimulatedStorage } from "./storage.ts";
import { isSettingsPatch, patchSettings } from "./system-settings.ts";
import { TASK_MONITORS, type TaskOptions, Tasks } from "./tasks.ts";
import { SimulatedUpdateService } from "./update-service.ts";

export interface RedfishBmcOptions {
  /** One system per machine. Defaults to one new machine. */
  readonly machines?: readonly SimulatedMachine[];
  /** A name from `redfishProfiles`, or a profile. Defaults to `generic`. */
  readonly profile?: string | RedfishProfile;
  readonly username?: string;
  readonly password?: string;
  /** Defaults to 8. */
  readonly sessionLimit?: number;
  /** Whether basic authentication is accepted. If not, the BMC accepts only sessions and says so in WWW-Authenticate. */
  readonly basic?: boolean;
  /** The delay that is added to every answer. */
  readonly latencyMs?: number;
  readonly tls?: WebServerTls;
  readonly host?: string;
  /** The port; 0 takes a free one. */
  readonly port?: number;
  /** How long the BMC is unavailable after a reset. If absent, it stays available. */
  readonly restartMs?: number;
  /** If set, writes are answered with 202 and a task monitor. */
  readonly tasks?: TaskOptions;
  /** A tree that replaces the profile's resources, except for the certificates of the web server. */
  readonly tree?: WholeTree;
}

/** A request as it was received. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

const Login = z.object({ UserName: z.string(), Password: z.string() });

/** Starts a BMC. It listens when the promise resolves. */
export async function startRedfishBmc(options: RedfishBmcOptions = {}): Promise<RedfishBmc> {
  const bmc = new RedfishBmc(options);
  await bmc.listen(options.port ?? 0, options.host ?? "127.0.0.1");
  return bmc;
}

/** A simulated BMC with Redfish on a real socket, which tests can inspect. */
export class RedfishBmc extends WebServer {
  readonly machines: readonly SimulatedMachine[];
  readonly profile: RedfishProfile;
  readonly username: string;
  readonly password: string;
  readonly sessions: SessionSlots;
  readonly accounts: Accounts;
  readonly manager: SimulatedManager;
  readonly update: SimulatedUpdateService;
  readonly certificates: SimulatedCertificates;
  /** The storage of each system. */
  readonly storages: readonly SimulatedStorage[];
  /** The drives and the log of the first system or of the manager. */
  readonly media: VirtualDrives;
  readonly sel: Logs;
  /** Every request in order. */
  readonly requests: SeenRequest[] = [];
  /** The number of requests with refused credentials. */
  refusedCredentials = 0;
  /** The number of BIOS jobs that boot writes have queued. */
  biosJobs = 0;
  latencyMs: number;

  readonly #basic: boolean;
  readonly #faults = new FaultQueue();
  readonly #moves = new Moves();
  readonly #tasks: Tasks | undefined;
  readonly #systems: ReadonlyMap<string, SimulatedMachine>;
  readonly #static: ReadonlyMap<string, unknown>;
  readonly #services: readonly ResourceService[];
  readonly #tree: WholeTree | undefined;
  #closed = false;
  #restarts = 0;

  constructor(options: RedfishBmcOptions) {
    super(options.tls, (request, response) => void this.#handle(request, response));
    const { profile = "generic" } = options;
    this.profile = typeof profile === "string" ? redfishProfile(profile) : profile;
    this.machines = options.machines ?? [new SimulatedMachine()];
    this.username = options.username ?? "admin";
    this.password = options.password ?? "calvin";
    this.sessions = new SessionSlots(options.sessionLimit ?? 8);
    this.latencyMs = options.latencyMs ?? 0;
    this.#basic = options.basic ?? true;
    this.#tasks = options.tasks && new Tasks(options.tasks);
    this.#systems = new Map(
      this.machines.map((machine, index) => [`${SYSTEMS}/${this.#systemId(index)}`, machine]),
    );
    const { tree } = options;
    this.#tree = tree;
    this.#static = tree
      ? new Map([[ROOT, tree.root]])
      : staticResources(this.profile, [...this.#systems.keys()]);
    const managerPath = `${MANAGERS}/${this.profile.managerId}`;
    const owners = { manager: managerPath, system: this.systemPaths[0], chassis: CHASSIS };
    const ownerOf = (below: keyof typeof owners) => owners[below] ?? managerPath;
    this.manager = new SimulatedManager(managerPath, this.profile);
    const { restartMs } = options;
    if (restartMs !== undefined) {
      // The answer is sent first.
      this.manager.onReset = () => setTimeout(() => void this.restart(restartMs), 50);
    }
    this.update = new SimulatedUpdateService(managerPath, this.systemPaths[0] ?? SYSTEMS, this.profile);
    this.update.onRestart = (downMs) => void this.restart(downMs);
    this.certificates = new SimulatedCertificates(managerPath, this.profile);
    this.certificates.shown = () => this.certificate;
    this.certificates.onShow = (certificate) => this.useCertificate(certificate);
    this.certificates.onRestart = () => setTimeout(() => void this.restart(restartMs ?? 0), 50);
    this.accounts = new Accounts(this.username, this.password, managerPath, this.profile);
    this.media = new VirtualDrives(ownerOf(this.profile.media.below), this.profile);
    this.sel = new Logs(ownerOf(this.profile.sel.below), this.profile);
    const inventories = this.systemPaths.map((path) => new SimulatedInventory(path, this.profile));
    this.storages = [...this.#systems].map(([path, machine]) => new SimulatedStorage(path, machine));
    for (const storage of this.storages) storage.onRestart = (downMs) => void this.restart(downMs);
    const secureBoots = [...this.#systems].map(
      ([path, machine]) => new SimulatedSecureBoot(path, machine, this.profile),
    );
    const bioses = [...this.#systems].map(
      ([path, machine]) => new SimulatedBios(path, managerPath, machine, this.profile),
    );
    const bootOptions = [...this.#systems].map(([path, machine]) => new SimulatedBootOptions(path, machine));
    const chassis = new SimulatedChassis(this.machine, this.profile, [...this.#systems.keys()]);
    this.#services = [
      this.media,
      this.sel,
      this.accounts,
      this.update,
      this.certificates,
      ...inventories,
      ...this.storages,
      ...secureBoots,
      ...bioses,
      new SimulatedBiosRegistry(this.profile),
      ...bootOptions,
      chassis,
      new SimulatedInterfaces(managerPath, this.machine, this.profile),
      this.manager,
    ];
    this.machine.on("network", (address) => void this.#move(address));
  }

  /** The only machine, or the first of several. */
  get machine(): SimulatedMachine {
    const [first] = this.machines;
    if (!first) throw new Error("this BMC has no machine");
    return first;
  }

  /** The storage of the only machine, or of the first of several. */
  get storage(): SimulatedStorage {
    const [first] = this.storages;
    if (!first) throw new Error("this BMC has no machine");
    return first;
  }

  /** Every request so far in the form `METHOD path`. */
  get log(): readonly string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`);
  }

  /** The paths of the systems in the order of `machines`. */
  get systemPaths(): readonly string[] {
    return [...this.#systems.keys()];
  }

  /** Applies a fault to the next matching requests. */
  fail(fault: Fault): void {
    this.#faults.add(fault);
  }

  /** Exchanges the paths of two resources after `afterRequests` more requests have been answered. */
  exchange(one: string, other: string, afterRequests = 0): void {
    this.#moves.add(one, other, afterRequests);
  }

  /** Removes all faults. */
  heal(): void {
    this.#faults.clear();
  }

  /** Forgets the requests and connections so far. */
  forget(): void {
    this.requests.length = 0;
    this.connections = 0;
  }

  /** Restarts the BMC, but not its machines: sessions and connections end, and it accepts none for `downMs`. */
  async restart(downMs: number): Promise<void> {
    const restart = ++this.#restarts;
    this.sessions.expireAll();
    await this.stop();
    await new Promise((resolve) => setTimeout(resolve, downMs));
    if (restart !== this.#restarts) return;
    this.certificates.restarted();
    this.manager.restarted();
    if (!this.#closed) await this.listen(this.port, this.host);
  }

  /** Closes every connection and cancels the machines' transitions. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const machine of this.machines) machine.close();
    await this.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Moves the BMC to another address of this host. */
  async #move(address: string | undefined): Promise<void> {
    if (address !== undefined && !isLoopback(address)) return;
    this.sessions.expireAll();
    await this.stop();
    if (address !== undefined && !this.#closed) await this.listen(this.port, address);
  }

  #systemId(index: number): string {
    return this.machines.length === 1 ? this.profile.systemId : `${this.profile.systemId}-${index + 1}`;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await readBody(request);
      // HEAD is answered like GET, without the body (DSP0266 section 7.4).
      const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
      const path = (request.url ?? "").replace(/(?<=.)\/$/, "");
      this.requests.push({ method, path, headers: request.headers, body });
      this.#moves.count();
      const fault = this.#faults.take(method, path);
      if (this.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, this.latencyMs));
      const url = new URL(path, "http://bmc");
      const ifMatch = request.headers["if-match"];
      const inner = this.#moves.within(url.pathname);
      const asked = { method, path: inner, body: this.#moves.body(body, false), ifMatch };
      this.#deliver(response, fault, () => {
        const answer = this.#answer(asked, request, url.search);
        const isRead = method === "GET" && answer.delayMs === undefined;
        const collection = { path: inner, query: url.searchParams };
        const read = (member: string) => this.#answer({ ...asked, path: member }, request);
        const whole = isRead ? sendCollection(answer, collection, this.profile, read) : answer;
        return this.#moves.answer(whole, url.pathname);
      });
    } catch {
      response.destroy();
    }
  }

  #answer(asked: ResourceRequest, request: IncomingMessage, query = ""): Answer {
    const { method, path, body, ifMatch } = asked;
    if (this.profile.refusesIdentityEncoding && request.headers["accept-encoding"] === "identity") {
      return { status: 406 };
    }
    // A version that the service does not support (DSP0266 section 8.4).
    if ((request.headers["odata-version"] ?? "4.0") !== "4.0") return preconditionFailed("OData-Version");
    const open = method === "GET" ? odataDocument(path, this.#static.get(ROOT)) : undefined;
    if (open) return open;
    if (method === "POST" && path === SESSIONS) return this.#login(body);
    if (!this.#authorised(request)) return this.#unauthorised();
    if (path === SESSIONS && method === "GET") return this.sessions.collection();
    if (path.startsWith(`${SESSIONS}/`)) {
      const id = path.slice(SESSIONS.length + 1);
      if (method === "GET") return this.sessions.show(id);
      return method === "DELETE" ? this.sessions.close(id) : methodNotAllowed(method);
    }
    const tree = this.#tree;
    if (tree) {
      const played = tree.play(`${method} ${path}${query}`, asked);
      return played ?? tree.answer(asked) ?? this.certificates.answer(asked) ?? notFound(path);
    }
    if (path.startsWith(`${TASK_MONITORS}/`)) {
      const storage = this.storages[0]?.answer(asked);
      return storage ?? this.update.answer(asked) ?? this.#tasks?.monitor(path) ?? notFound(path);
    }
    const fixed = this.#static.get(path);
    if (fixed !== undefined) return method === "GET" ? ok(fixed) : methodNotAllowed(method);
    if (method === "POST" && ifMatch !== undefined && this.profile.actionRefusesIfMatch) {
      return preconditionFailed("ETag");
    }
    for (const service of this.#services) {
      const answer = service.answer(asked);
      if (answer) return method === "GET" ? answer : this.#asTask(answer);
    }
    return this.#system(method, path, ifMatch, body);
  }

  #system(method: string, path: string, ifMatch: string | undefined, body: unknown): Answer {
    const found = [...this.#systems].find(([system]) => path === system || path.startsWith(`${system}/`));
    if (!found) return notFound(path);
    const [systemPath, machine] = found;
    const { profile } = this;
    const id = systemPath.slice(SYSTEMS.length + 1);
    const number = this.machines.indexOf(machine) + 1;
    const resource = systemResource(systemPath, id, machine, profile, number);
    const owner = {
      system: systemPath,
      settings: `${systemPath}/Settings`,
      "future-state": `${systemPath}/SD`,
    };
    switch (path) {
      case systemPath:
        if (method === "GET") return withTag(resource, profile);
        if (method !== "PATCH") return methodNotAllowed(method);
        if (isSettingsPatch(body)) {
          return checkIfMatch(ifMatch, resource, profile) ?? this.#asTask(patchSettings(body, machine));
        }
        if (profile.bootOwner === "settings") {
          return refusal(400, "Base.1.8.PropertyNotWritable", "The property Boot is a read only property.");
        }
        if (profile.bootOwner === "future-state") {
          const message = `The requested operation is supported in the future state URI ${owner["future-state"]}.`;
          return refusal(400, "Ami.1.0.OperationSupportedInFutureStateURI", message);
        }
        return this.#patchBoot(ifMatch, resource, body, machine);
      case owner[profile.bootOwner]: {
        const pending = pendingResource(path, machine, profile);
        if (method === "GET") return withTag(pending, profile);
        return method === "PATCH"
          ? this.#patchBoot(ifMatch, pending, body, machine)
          : methodNotAllowed(method);
      }
      case `${systemPath}/ResetActionInfo`:
        return profile.resetListing === "action-info" ? ok(resetActionInfo(path, profile)) : notFound(path);
      case `${systemPath}/Actions/ComputerSystem.Reset`:
        return method === "POST" ? this.#asTask(reset(body, machine, profile)) : methodNotAllowed(method);
      default:
        return notFound(path);
    }
  }

  #patchBoot(
    ifMatch: string | undefined,
    resource: Record<string, unknown>,
    body: unknown,
    machine: SimulatedMachine,
  ): Answer {
    const queueJob = () => {
      this.biosJobs++;
    };
    const refused = checkIfMatch(ifMatch, resource, this.profile);
    if (!refused && isBootOrderPatch(body)) return this.#asTask(patchBootOrder(body, machine));
    return refused ?? this.#asTask(patchBoot(body, machine, this.profile, queueJob));
  }

  #asTask(answer: Answer): Answer {
    return this.#tasks && answer.status < 300 && answer.status !== 202 ? this.#tasks.start() : answer;
  }

  #login(body: unknown): Answer {
    const parsed = Login.safeParse(body);
    const accounts = this.#tree ?? this.accounts;
    const right = parsed.success && accounts.accepts(parsed.data.UserName, parsed.data.Password);
    return right ? this.sessions.open(parsed.data.UserName) : this.#unauthorised();
  }

  #authorised(request: IncomingMessage): boolean {
    const token = request.headers["x-auth-token"];
    if (typeof token === "string") return this.sessions.accepts(token);
    const [scheme, encoded = ""] = (request.headers.authorization ?? "").split(" ");
    const [name = "", ...password] = Buffer.from(encoded, "base64").toString("utf8").split(":");
    const accounts = this.#tree ?? this.accounts;
    return this.#basic && scheme === "Basic" && accounts.accepts(name, password.join(":"));
  }

  #unauthorised(): Answer {
    this.refusedCredentials++;
    const headers = { "WWW-Authenticate": this.#basic ? 'Basic realm="BMC"' : 'Session realm="BMC"' };
    return refusal(
      401,
      "Base.1.8.AccessDenied",
      "Access denied: check the user name and the password.",
      headers,
    );
  }

  #deliver(response: ServerResponse, fault: Fault | undefined, carryOut: () => Answer): void {
    if (fault?.kind === "close-before") {
      response.destroy();
      return;
    }
    if (fault?.kind === "reset-before") {
      response.socket?.resetAndDestroy();
      return;
    }
    if (fault?.kind === "forget") {
      send(response, noContent);
      return;
    }
    if (fault?.kind === "refuse" || fault?.kind === "redirect") {
      send(response, refusalOf(fault));
      return;
    }
    const answer = carryOut();
    const text = JSON.stringify(answer.body ?? {});
    // A fault of the body needs a body, which a 204 does not have.
    const status = answer.status === 204 ? 200 : answer.status;
    switch (fault?.kind) {
      case undefined:
        if (this.profile.closesConnections) endAfter(response);
        if (answer.delayMs === undefined) send(response, answer);
        else setTimeout(() => sendRecorded(response, answer), answer.delayMs);
        return;
      case "reset-after":
        response.socket?.resetAndDestroy();
        return;
      case "close-after":
        response.destroy();
        return;
      case "gateway":
        response.writeHead(fault.status ?? 504, { "Content-Type": "text/html" });
        response.end("<html><head><title>Gateway Time-out</title></head></html>");
        return;
      case "silent":
        return;
      case "slow-body":
      case "truncated":
        response.writeHead(status, {
          "Content-Type": "application/json",
          "Content-Length": text.length + 64,
        });
        response.write(text.slice(0, 8), () => {
          if (fault.kind === "truncated") response.destroy();
        });
        return;
      case "bad-json":
        response.writeHead(status, { "Content-Type": "application/json" });
        response.end(text.slice(0, -1));
        return;
      case "wrong-type":
        response.writeHead(status, { "Content-Type": "text/html" });
        response.end("<html><body>Please log in</body></html>");
        return;
      case "oversized":
        response.writeHead(status, { "Content-Type": "application/json" });
        response.end(`{"padding":"${"x".repeat(3_000_000)}"}`);
        return;
      default:
        fault?.kind satisfies undefined;
    }
  }
}

/** The headers of every answer (DSP0266 section 8.2). */
const STANDARD_HEADERS = { "OData-Version": "4.0", "Cache-Control": "no-cache" };

/** Returns the header with the schema of a resource (DSP0266 section 8.3). */
function describedBy(body: unknown): Readonly<Record<string, string>> {
  const type = (body as { "@odata.type"?: string } | undefined)?.["@odata.type"];
  const file = type?.replace(/^#/, "").replace(/\.[^.]*$/, "");
  return file === undefined
    ? {}
    : { Link: `<http://redfish.dmtf.org/schemas/v1/${file}.json>; rel=describedby` };
}

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  const text = typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body);
  const type = text === "" ? {} : { "Content-Type": "application/json; charset=utf-8" };
  response.writeHead(status, { ...STANDARD_HEADERS, ...describedBy(body), ...type, ...headers });
  response.end(text);
}

function sendRecorded(response: ServerResponse, answer: Answer): void {
  try {
    if (answer.drops === undefined) send(response, answer);
    else response.destroy();
  } catch {
    // No server can send this header.
    response.destroy();
  }
}

/** Closes the connection after the answer, without having announced it. */
function endAfter(response: ServerResponse): void {
  const { socket } = response;
  response.once("finish", () => socket?.end());
}

function refusalOf(fault: Fault): Answer {
  if (fault.kind === "redirect") {
    return { status: fault.status ?? 308, headers: { Location: fault.location ?? "/" } };
  }
  const headers = fault.retryAfter === undefined ? undefined : { "Retry-After": fault.retryAfter };
  const messageId = fault.messageId ?? "Base.1.8.ServiceTemporarilyUnavailable";
  const message = fault.message ?? "The service is temporarily unavailable.";
  return refusal(fault.status ?? 503, messageId, message, headers);
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
