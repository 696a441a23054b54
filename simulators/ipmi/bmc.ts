import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import { listenOn } from "../free-port.ts";
import { isLoopback, type SimulatedMachine } from "../machine.ts";
import { BootOptions } from "./boot-options.ts";
import type { Devices } from "./commands/handler.ts";
import { findHandler } from "./commands.ts";
import { type ConsoleOptions, SimulatedConsole } from "./console.ts";
import { EventLog, type EventLogOptions } from "./event-log.ts";
import { type SimulatedFru, writeFru } from "./fru.ts";
import { Network, type NetworkOptions } from "./network.ts";
import type { Reply } from "./reply.ts";
import { forward, isSendMessage, type SimulatedSatellite } from "./satellite.ts";
import { type SdrOptions, SimulatedSdr } from "./sdr-repository.ts";
import { Sessions, type SimulatedSession } from "./sessions.ts";
import { type SimulatedUser, storedKey, UserTable, type UserTableQuirks } from "./users.ts";
import * as wire from "./wire.ts";

export interface IpmiBmcOptions {
  readonly machine: SimulatedMachine;
  readonly host?: string;
  /** The port; 0 takes a free one. */
  readonly port?: number;
  /** The users. Defaults to `admin` with the password `calvin`. */
  readonly users?: readonly SimulatedUser[];
  readonly userSlots?: number;
  readonly userQuirks?: UserTableQuirks;
  /** The BMC key as text. Defaults to none. */
  readonly kg?: string;
  /** The cipher suites that Open Session accepts. Defaults to 3 and 17. */
  readonly cipherSuites?: readonly (3 | 17)[];
  /** The answer to Get Channel Cipher Suites. Defaults to those cipher suites. */
  readonly cipherSuiteRecords?: Buffer;
  readonly sessionSlots?: number;
  readonly sessionIdleMs?: number;
  /** The number of password bytes that are stored. BMCs with IPMI 1.5 user tables store 16. */
  readonly passwordBytes?: 16 | 20;
  readonly bootFlagExpiryMs?: number;
  readonly bootFlagExpiryCanBeStopped?: boolean;
  readonly manufacturer?: number;
  /** The complete answer to Get Device ID, which replaces the simulator's. */
  readonly deviceId?: Buffer;
  readonly log?: Partial<EventLogOptions>;
  readonly sdr?: Partial<SdrOptions>;
  readonly fru?: Partial<SimulatedFru>;
  /** Changes the bytes of the FRU. */
  readonly damageFru?: (fru: Buffer) => void;
  /** The number of FRU bytes in one answer. */
  readonly fruPartBytes?: number;
  /** Instances of serial over LAN that another client left open. */
  readonly sol?: readonly number[];
  /** Options of the console. False for a BMC that does not redirect the serial port. */
  readonly console?: false | Partial<ConsoleOptions>;
  /** The BMC's clock in seconds since 1970. Defaults to the host's clock. */
  readonly clockSeconds?: number;
  /** How long the BMC is silent after a reset. */
  readonly restartMs?: number;
  /** Whether both checksums of the messages inside packets are wrong, as with Supermicro's X9 boards. */
  readonly wrongChecksums?: boolean;
  /** The role byte with which RAKP3 is checked: only the level for a BMC that ignores the rest of the byte. */
  readonly rakp3Role?: "level";
  readonly satellites?: readonly SimulatedSatellite[];
  /** How the BMC treats a request that repeats a request sequence number. */
  readonly duplicates?: "repeat-answer" | "refuse" | "execute";
  readonly network?: Partial<NetworkOptions>;
}

/** Faults that a test switches on and off. The names are those of the messages, such as `RAKP1` or `Chassis Control`. */
interface IpmiFaults {
  /** Whether to drop a request as if it had not arrived. */
  ignores?: (name: string, payload: Buffer) => boolean;
  /** Whether to carry out a request and drop its answer. */
  losesAnswer?: (name: string) => boolean;
  /** Returns a completion code with which a command is refused. */
  refuses?: (name: string, data: Buffer) => number | undefined;
  /** Returns an answer to a command that is then not carried out. */
  answers?: (request: wire.Request) => Reply | undefined;
  /** Changes the answer to a command that was carried out. */
  overrules?: (name: string, reply: Reply) => Reply;
  /** Returns the status of a handshake's answer, replacing the real one; `lost` sends no answer. */
  shakes?: (name: string, payload: Buffer) => number | "lost" | undefined;
  /** Changes a datagram that is sent, or adds others before it. */
  rewrites?: (name: string, datagram: Buffer) => readonly Buffer[];
}

export interface IpmiBmc extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly machine: SimulatedMachine;
  readonly faults: IpmiFaults;
  /** The number of datagrams received. */
  readonly received: number;
  readonly answered: number;
  /** The number of times each message was understood, in the order of arrival. */
  readonly log: readonly string[];
  /** The number of requests with a session sequence number that was already used. */
  readonly repeatedSequences: number;
  readonly users: UserTable;
  readonly events: EventLog;
  readonly sdr: SimulatedSdr;
  /** Instances of serial over LAN that are open. */
  readonly sol: ReadonlySet<number>;
  readonly console: SimulatedConsole;
  /** The number of session slots in use, including half-open sessions. */
  sessions(): number;
  /** The number of sessions with a completed login. */
  activeSessions(): number;
  /** Forgets every session and request, and ignores packets for `silentMs`. */
  restart(silentMs?: number): void;
  /** Sends an unrequested payload to the sender of the session's last packet. Returns false if the session has ended. */
  sendPayload(session: SimulatedSession, type: number, payload: Buffer): boolean;
  /** Stops the process: its host refuses packets to its port. Starts again after `awayMs`. */
  stop(awayMs: number): void;
  close(): Promise<void>;
}

function damaged(fru: Buffer, damage: ((fru: Buffer) => void) | undefined): Buffer {
  damage?.(fru);
  return fru;
}

function withWrongChecksums(message: Buffer): Buffer {
  const copy = Buffer.from(message);
  for (const at of [2, copy.length - 1]) copy[at] = (copy[at] ?? 0) + 1;
  return copy;
}

/** The payload type of serial over LAN. */
const SOL = 1;
const OPEN_SESSION = 0x10;
const RAKP_1 = 0x12;
const RAKP_3 = 0x14;
const GUID = Buffer.from("a123456789abcdefa123456789abcdef", "hex");
const FRU: SimulatedFru = {
  vendor: "Example",
  model: "Server 1",
  serial: "SYS-1",
  boardSerial: "BRD-1",
  chassisSerial: "CHS-1",
};
const CLOSE_SESSION = "Close Session";
/** The sequence number expiration interval (IPMI 2.0 table 4-1). */
const REQUEST_MEMORY_MS = 5_000;
const REMEMBERED_REQUESTS = 16;

/** Starts a BMC on a UDP port that supports RMCP+ with cipher suites 3 and 17 and controls one machine. */
export async function startIpmiBmc(options: IpmiBmcOptions): Promise<IpmiBmc> {
  const bmc = new UdpBmc(options);
  await bmc.listen(options.host ?? "127.0.0.1", options.port ?? 0);
  return bmc;
}

class UdpBmc implements IpmiBmc {
  readonly machine: SimulatedMachine;
  readonly faults: IpmiFaults = {};
  readonly log: string[] = [];
  received = 0;
  answered = 0;
  repeatedSequences = 0;

  readonly #options: IpmiBmcOptions;
  #socket: Socket;
  readonly #devices: Devices;
  readonly #sessions: Sessions;
  readonly #network: Network;
  readonly users: UserTable;
  readonly events: EventLog;
  readonly sdr: SimulatedSdr;
  readonly sol: Set<number>;
  readonly console: SimulatedConsole;
  readonly #peers = new Map<number, RemoteInfo>();
  #silentUntilMs = 0;
  #place = { address: "", port: 0 };
  #isListening = false;
  #comesBack: NodeJS.Timeout | undefined;
  readonly #answers = new Map<string, { readonly answer: Buffer | undefined; readonly atMs: number }>();

  constructor(options: IpmiBmcOptions) {
    this.#options = options;
    this.machine = options.machine;
    const suites = options.cipherSuites ?? [3, 17];
    const kg = options.kg === undefined ? undefined : storedKey(options.kg, 20);
    const passwordBytes = options.passwordBytes ?? 20;
    this.users = new UserTable(options.users ?? [{ name: "admin", password: "calvin" }], {
      slots: options.userSlots ?? 10,
      passwordBytes,
      ...options.userQuirks,
    });
    this.events = new EventLog({
      records: [],
      partBytes: 255,
      erasureMs: 0,
      reservations: true,
      clearing: "erases",
      ...options.log,
    });
    this.sdr = new SimulatedSdr(options.machine, { partBytes: 255, present: true, ...options.sdr });
    this.sol = new Set(options.sol);
    const consoleOptions = {
      retryMs: 100,
      retries: 7,
      packetBytes: 200,
      growingCopies: false,
      historyBytes: 4_096,
    };
    this.console = new SimulatedConsole(
      { ...consoleOptions, ...(options.console || {}) },
      (session, payload) => {
        if (!this.sendPayload(session, SOL, payload)) this.console.drop();
      },
    );
    this.machine.on("output", (output) => this.console.print(output));
    this.#sessions = new Sessions({
      users: this.users,
      suites,
      kg,
      guid: GUID,
      slots: options.sessionSlots ?? 8,
      rakp3Role: options.rakp3Role,
      idleMs: options.sessionIdleMs ?? 60_000,
    });
    this.#devices = {
      machine: options.machine,
      boot: new BootOptions(options.machine, {
        expiryMs: options.bootFlagExpiryMs ?? 60_000,
        expiryCanBeStopped: options.bootFlagExpiryCanBeStopped ?? true,
      }),
      sessions: this.#sessions,
      users: this.users,
      log: this.events,
      sdr: this.sdr,
      sol: this.sol,
      console: this.console,
      hasConsole: options.console !== false,
      fru: damaged(writeFru({ ...FRU, ...options.fru }), options.damageFru),
      fruPartBytes: options.fruPartBytes ?? 255,
      clock: () => options.clockSeconds ?? Math.floor(Date.now() / 1_000),
      restart: (kind) => setImmediate(() => this.restart(kind === "cold" ? (options.restartMs ?? 0) : 0)),
      guid: GUID,
      suites,
      suiteRecords: options.cipherSuiteRecords,
      hasKg: kg !== undefined,
      manufacturer: options.manufacturer ?? 343,
      deviceId: options.deviceId,
    };
    this.#network = new Network({
      latencyMs: 0,
      loss: 0,
      duplication: 0,
      reordering: 0,
      forgery: 0,
      truncation: 0,
      seed: 1,
      ...options.network,
    });
    this.#socket = this.#openSocket(options.host?.includes(":") ? "udp6" : "udp4");
    this.machine.on("network", (address) => void this.#move(address));
  }

  #openSocket(type: "udp4" | "udp6"): Socket {
    const socket = createSocket(type);
    socket.on("message", (bytes, peer) => {
      this.#network.receive(bytes, (datagram) => {
        this.received += 1;
        if (Date.now() >= this.#silentUntilMs) this.#handle(datagram, peer);
      });
    });
    // A client that has gone answers with ICMP, which a BMC ignores.
    socket.on("error", () => undefined);
    return socket;
  }

  /** Moves the BMC to another address of this host. */
  async #move(address: string | undefined): Promise<void> {
    if (address === undefined) this.restart(Number.POSITIVE_INFINITY);
    else if (isLoopback(address)) {
      const { port } = this;
      this.restart();
      this.#socket.close();
      this.#socket = this.#openSocket("udp4");
      await this.listen(address, port);
    }
  }

  get host(): string {
    return this.#place.address;
  }

  get port(): number {
    return this.#place.port;
  }

  sessions(): number {
    return this.#sessions.used;
  }

  activeSessions(): number {
    return this.#sessions.active;
  }

  restart(silentMs = 0): void {
    this.#sessions.forgetAll();
    this.console.drop();
    this.#answers.clear();
    this.#silentUntilMs = Date.now() + silentMs;
  }

  async listen(host: string, port: number): Promise<void> {
    await listenOn(port, async (free) => {
      this.#socket.bind(free, host);
      await once(this.#socket, "listening");
    });
    this.#place = this.#socket.address();
    this.#isListening = true;
  }

  stop(awayMs: number): void {
    if (!this.#isListening) return;
    this.restart();
    this.#isListening = false;
    this.#socket.close();
    if (!Number.isFinite(awayMs)) return;
    this.#comesBack = setTimeout(() => {
      this.#socket = this.#openSocket(this.host.includes(":") ? "udp6" : "udp4");
      void this.listen(this.host, this.port);
    }, awayMs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    this.#network.close();
    this.#devices.boot.close();
    this.console.drop();
    this.machine.close();
    clearTimeout(this.#comesBack);
    if (this.#isListening) await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }

  #handle(bytes: Buffer, peer: RemoteInfo): void {
    const datagram = wire.readDatagram(bytes);
    if (!datagram) return;
    switch (datagram.kind) {
      case "presence-ping":
        this.#send("Presence Ping", wire.writePong(datagram.tag), peer);
        return;
      case "v1.5":
        this.#outsideSession(datagram.message, wire.writeVersion1, peer);
        return;
      case "v2":
        if (datagram.session !== 0) this.#inSession(datagram, peer);
        else if (datagram.type === 0) {
          this.#outsideSession(datagram.payload, (message) => wire.writeHandshake(0, message), peer);
        } else this.#handshake(datagram.type, datagram.payload, peer);
        return;
      default:
        datagram satisfies never;
    }
  }

  #handshake(type: number, payload: Buffer, peer: RemoteInfo): void {
    const steps: Readonly<Record<number, readonly [string, () => Buffer | undefined]>> = {
      [OPEN_SESSION]: ["Open Session", () => this.#sessions.open(payload)],
      [RAKP_1]: ["RAKP1", () => this.#sessions.rakp1(payload)],
      [RAKP_3]: ["RAKP3", () => this.#sessions.rakp3(payload)],
    };
    const step = steps[type];
    if (!step) return;
    const [name, run] = step;
    if (this.#ignores(name, payload)) return;
    const status = this.faults.shakes?.(name, payload);
    if (status === "lost") return;
    const answer = run();
    if (!answer) return;
    // A refusal ends after the console's session ID (IPMI 2.0 section 13.17).
    const refused = status === undefined ? answer : Buffer.from(answer.subarray(0, 8)).fill(status, 1, 2);
    this.#send(name, wire.writeHandshake(type + 1, refused), peer);
  }

  #outsideSession(message: Buffer, frame: (message: Buffer) => Buffer, peer: RemoteInfo): void {
    const request = wire.readRequest(message);
    const handler = request && findHandler(request.netFn, request.command);
    if (!request || handler?.level !== 0 || this.#ignores(handler.name, request.data)) return;
    const { code = 0, data = Buffer.alloc(0) } = handler.run(request.data, this.#devices, undefined);
    this.#send(handler.name, frame(wire.writeResponse(request, code, data)), peer);
  }

  #inSession(datagram: Extract<wire.Datagram, { kind: "v2" }>, peer: RemoteInfo): void {
    const session = this.#sessions.find(datagram.session);
    if (session?.state !== "active") return;
    const message = wire.unwrap(datagram, session);
    const request = datagram.type === SOL ? undefined : message && wire.readRequest(message);
    if (!message || (datagram.type !== SOL && !request)) return;
    if (session.seen.has(datagram.sequence)) {
      this.repeatedSequences += 1;
      return;
    }
    session.seen.add(datagram.sequence);
    session.lastUsedMs = Date.now();
    this.#peers.set(session.id, peer);
    if (!request) {
      if (!this.#ignores("SOL", message)) this.console.receive(session, message);
      return;
    }
    const name = this.#nameOf(request);
    if (this.#ignores(name, request.data)) return;

    const seal = (message: Buffer) => {
      session.outgoing += 1;
      const answer = this.#options.wrongChecksums ? withWrongChecksums(message) : message;
      return wire.wrap(answer, session.consoleId, session.outgoing, session);
    };
    if (isSendMessage(request)) {
      const { reply, message: answer } = forward(
        request,
        this.#options.satellites ?? [],
        (inner, { machine }) => this.#execute(inner, session, { ...this.#devices, machine }),
      );
      const { code = 0, data = Buffer.alloc(0) } = reply;
      this.#send("Send Message", seal(wire.writeResponse(request, code, data)), peer);
      if (answer) this.#send(name, seal(answer), peer);
      return;
    }
    const answer = this.#answerOnce(request, session);
    if (answer) this.#send(name, seal(answer), peer);
  }

  sendPayload(session: SimulatedSession, type: number, payload: Buffer): boolean {
    const peer = this.#peers.get(session.id);
    if (!peer || this.#sessions.find(session.id) !== session) return false;
    session.outgoing += 1;
    this.#send("SOL", wire.wrap(payload, session.consoleId, session.outgoing, session, type), peer);
    return true;
  }

  /** Treats a repeated request sequence number as a repeated request (IPMI 2.0 section 5.6). */
  #answerOnce(request: wire.Request, session: SimulatedSession): Buffer | undefined {
    const { duplicates = "repeat-answer" } = this.#options;
    const memory = [
      session.id,
      request.sequence,
      request.netFn,
      request.command,
      request.data.toString("hex"),
    ];
    const known = this.#answers.get(memory.join());
    if (known && Date.now() - known.atMs < REQUEST_MEMORY_MS && duplicates !== "execute") {
      return duplicates === "refuse" ? wire.writeResponse(request, 0xcf, Buffer.alloc(0)) : known.answer;
    }
    const { code = 0, data = Buffer.alloc(0), isLost } = this.#execute(request, session);
    const answer = isLost
      ? undefined
      : wire.writeResponse(request, code, code === 0 ? data : Buffer.alloc(0));
    this.#answers.set(memory.join(), { answer, atMs: Date.now() });
    const [oldest] = this.#answers.keys();
    if (oldest !== undefined && this.#answers.size > REMEMBERED_REQUESTS) this.#answers.delete(oldest);
    return answer;
  }

  #execute(request: wire.Request, session: SimulatedSession, devices = this.#devices): Reply {
    const given = this.faults.answers?.(request);
    if (given) return given;
    const handler = findHandler(request.netFn, request.command);
    if (!handler) return { code: 0xc1 };
    if (session.level < handler.level) return { code: 0xd4 };
    const refusal = this.faults.refuses?.(handler.name, request.data);
    if (refusal !== undefined) return { code: refusal };
    const reply = handler.run(request.data, devices, session);
    return this.faults.overrules?.(handler.name, reply) ?? reply;
  }

  /** Returns the name of a command. The name of a bridged command is its name at the target. */
  #nameOf(request: wire.Request): string {
    const inner = isSendMessage(request) ? wire.readRequest(request.data.subarray(1)) : request;
    return (inner && findHandler(inner.netFn, inner.command)?.name) ?? "unknown";
  }

  #ignores(name: string, payload: Buffer): boolean {
    this.log.push(name);
    return this.faults.ignores?.(name, payload) ?? false;
  }

  #send(name: string, datagram: Buffer, peer: RemoteInfo): void {
    if (this.faults.losesAnswer?.(name)) return;
    for (const part of this.faults.rewrites?.(name, datagram) ?? [datagram]) {
      this.#network.send(part, (bytes) => {
        if (!this.#isListening) return;
        this.answered += 1;
        // The client does not wait for this message, so its address may already be gone.
        this.#socket.send(bytes, peer.port, peer.address, (error) => {
          if (error && name !== CLOSE_SESSION) this.log.push(`send failed: ${error.message}`);
        });
      });
    }
  }
}
