import { randomBytes } from "node:crypto";
import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { TimeoutReached } from "../../../../timeout.ts";
import type { Tracer } from "../../../../tracing/tracer.ts";
import type { WireTap } from "../../../../tracing/wire-tap.ts";
import { type Answer, codeOf } from "../commands/channel.ts";
import { type Command, closeSession, type Privilege, setSessionPrivilege } from "../commands/command.ts";
import {
  COMPLETED,
  completionError,
  DUPLICATED_REQUEST,
  INSUFFICIENT_PRIVILEGE,
  NODE_BUSY,
} from "../commands/completion-code.ts";
import { GET_DEVICE_ID } from "../commands/device-id.ts";
import type { Established } from "./handshake.ts";
import { buildLanRequest, parseProvenResponse } from "./message.ts";
import { sendUntilAnswered } from "./retransmission.ts";
import { parseRmcp } from "./rmcp.ts";
import { DIRECT, type Route } from "./route.ts";
import { openMessage, type Seal, type SessionPayload, sealMessage } from "./sealed-packet.ts";
import type { UdpTransport } from "./transport.ts";

const WIDTH = 32;

/**
 * Tracks received session sequence numbers, so that a repeated or replayed packet is accepted only once (IPMI 2.0 section
 * 6.12.13). Packets may arrive out of order within the window.
 */
export class SequenceWindow {
  #highest = 0;
  /** Bit n means that `#highest - n` was received. */
  #seen = 0;

  /** Returns true the first time that a number within the window is offered. */
  accept(sequence: number): boolean {
    if (sequence === 0) return false;
    const ahead = sequence - this.#highest;
    if (ahead > 0) {
      this.#seen = ahead >= WIDTH ? 1 : (this.#seen << ahead) | 1;
      this.#highest = sequence;
      return true;
    }
    if (-ahead >= WIDTH) return false;
    const bit = 1 << -ahead;
    if ((this.#seen & bit) !== 0) return false;
    this.#seen |= bit;
    return true;
  }
}

const LARGEST_SEQUENCE = 0xff_ff_ff_ff;

export interface SessionOptions {
  readonly established: Established;
  /** The highest privilege level of the session. */
  readonly privilege: Privilege;
  readonly route: Route;
  readonly transport: UdpTransport;
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly tap?: WireTap | undefined;
}

interface Asked {
  readonly command: Command;
  readonly route: Route;
}

interface Pending {
  readonly command: Command;
  readonly route: Route;
  readonly sequences: Set<number>;
  answered(answer: Answer): void;
  failed(error: BmcError): void;
}

/** Receives the payload of each packet of serial over LAN, with the packet's session sequence number. */
export type SolReceiver = (payload: Buffer, sequence: number) => void;

interface FlightLimits {
  /** The time limit for one answer, including repetitions of the request. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** Sends commands over one established session. The owner runs one flight at a time and closes it. */
export class IpmiSession {
  readonly #options: SessionOptions;
  readonly #outgoing: Seal;
  readonly #incoming: Seal;
  readonly #window = new SequenceWindow();
  readonly #pending = new Set<Pending>();
  #sessionSequence = 0;
  #requestSequence = 0;
  #raised = false;
  #solReceiver: SolReceiver | undefined;
  #flights: number;
  #lastHeardMs: number;
  #unproven = 0;
  readonly #unsubscribe: () => void;

  constructor(options: SessionOptions) {
    const { suite, keys, bmcId, consoleId, flights } = options.established;
    this.#options = options;
    this.#flights = flights;
    this.#outgoing = { suite, keys, sessionId: bmcId };
    this.#incoming = { suite, keys, sessionId: consoleId };
    this.#lastHeardMs = options.clock.monotonicMs();
    this.#unsubscribe = options.transport.subscribe({
      datagram: (datagram) => this.#receive(datagram),
      failed: (error) => {
        for (const pending of [...this.#pending]) pending.failed(error);
      },
    });
  }

  /** The number of flights that waited for an answer; packets that are sent together are one flight. */
  get flights(): number {
    return this.#flights;
  }

  /** When the BMC last sent anything in this session, by the monotonic clock. */
  get lastHeardMs(): number {
    return this.#lastHeardMs;
  }

  /** The number of packets for this session that failed their integrity check or could not be decrypted. */
  get unproven(): number {
    return this.#unproven;
  }

  /** The session's ID at the BMC. */
  get bmcId(): number {
    return this.#outgoing.sessionId;
  }

  /** The receiver of serial over LAN packets from now on; without one they are dropped. */
  set solReceiver(receiver: SolReceiver | undefined) {
    this.#solReceiver = receiver;
  }

  /** Sends a packet of serial over LAN without waiting. */
  sendSol(payload: Buffer): void {
    this.#sendPayload("sol", payload);
  }

  /** Sends a harmless request without waiting. A BMC that still knows the session answers. */
  poke(): void {
    this.#send(GET_DEVICE_ID, this.#nextRequestSequence());
  }

  /** Sends Close Session without waiting: BMCs have few slots, and an answer would change nothing. */
  close(): void {
    this.#send(closeSession(this.#outgoing.sessionId), this.#nextRequestSequence());
    this.#unsubscribe();
    for (const pending of [...this.#pending]) {
      pending.failed(new BmcError("cancelled", "the session was closed"));
    }
  }

  /**
   * Returns the answers in the order of the commands, which are sent together. The session begins at level USER. The command
   * that raises it is sent together with the first commands that need more; a BMC that handled these first says so, has not
   * executed them, and gets them again. Commands that must not be executed twice wait until the session is raised. A BMC
   * that requires a higher level than the specification gets it as well.
   */
  async run(commands: readonly Command[], limits: FlightLimits): Promise<readonly Answer[]> {
    limits.signal.throwIfAborted();
    const { privilege, route } = this.#options;
    const canRise = !this.#raised && privilege !== "user";
    const risesFirst = canRise && commands.some(({ needs }) => needs !== "user");
    const waits = risesFirst && commands.some(({ effect, acts }) => effect === "once" || acts);
    const asked = commands.map((command) => ({ command, route }));
    const rising = { command: setSessionPrivilege(privilege), route: DIRECT };
    const [raised] = waits ? await this.#flight([rising], limits) : [];
    const together = risesFirst && !waits;
    const all = await this.#flight(together ? [rising, ...asked] : asked, limits);
    const answers = together ? all.slice(1) : all;
    const isRefused = answers.some(({ completionCode }) => completionCode === INSUFFICIENT_PRIVILEGE);
    const later = canRise && isRefused && !risesFirst ? await this.#flight([rising], limits) : [];
    const rise = raised ?? (together ? all[0] : later[0]);
    if (rise?.completionCode === COMPLETED) this.#raised = true;
    else if (rise && risesFirst && isRefused) throw completionError(rise.command, rise.completionCode);
    const rose = !waits && rise?.completionCode === COMPLETED;
    const settled: Answer[] = [];
    for (const [index, answer] of answers.entries()) {
      const again = (all.length > 1 || rose) && notExecuted(answer, rose);
      settled.push(...(again ? await this.#flight(asked.slice(index, index + 1), limits) : [answer]));
    }
    const level = this.#raised ? privilege : "user";
    return settled.map((answer) => ({ ...answer, level }));
  }

  async #flight(asked: readonly Asked[], limits: FlightLimits): Promise<Answer[]> {
    this.#flights += 1;
    const outcomes = await Promise.allSettled(asked.map((one) => this.#traced(one, limits)));
    return outcomes.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
  }

  #traced(asked: Asked, limits: FlightLimits): Promise<Answer> {
    const { tracer } = this.#options;
    return tracer.span({ name: asked.command.name, kind: "client" }, async (span) => {
      const answer = await this.#tapped(asked, limits);
      span.note(codeOf(answer));
      return answer;
    });
  }

  async #tapped(asked: Asked, limits: FlightLimits): Promise<Answer> {
    const { tap } = this.#options;
    if (!tap) return await this.#exchange(asked, limits);
    const { name, netFn, command: code, data, secret = false } = asked.command;
    const startedMs = performance.now();
    const sent = { command: name, netFn, code, data: secret ? undefined : data, startedMs };
    try {
      const answer = await this.#exchange(asked, limits);
      const { completionCode } = answer;
      tap.ipmi({ ...sent, endedMs: performance.now(), completionCode, answer: answer.data });
      return answer;
    } catch (thrown) {
      tap.ipmi({ ...sent, endedMs: performance.now(), error: thrown });
      throw thrown;
    }
  }

  async #exchange({ command, route }: Asked, { limitMs, signal }: FlightLimits): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    let sequence = this.#nextRequestSequence();
    const pending: Pending = {
      command,
      route,
      sequences: new Set([sequence]),
      answered: (answer) => {
        if (answer.completionCode !== DUPLICATED_REQUEST) return resolve(answer);
        // The answer to the first copy is lost or late. Another copy needs another number to be answered.
        sequence = this.#nextRequestSequence();
        pending.sequences.add(sequence);
      },
      failed: reject,
    };
    promise.catch(() => undefined);
    this.#pending.add(pending);
    try {
      const send = () => this.#send(route.wrap(command, sequence), sequence);
      const repeat = command.effect !== "once";
      return await sendUntilAnswered({ send, answer: promise, limitMs, repeat }, this.#options.clock, signal);
    } catch (thrown) {
      throw lostAnswer(command, thrown);
    } finally {
      this.#pending.delete(pending);
    }
  }

  #send(command: Command, requestSequence: number): void {
    this.#sendPayload("ipmi", buildLanRequest({ ...command, sequence: requestSequence }));
  }

  #sendPayload(payload: SessionPayload, message: Buffer): void {
    const sequence = this.#nextSessionSequence();
    this.#options.transport.send(sealMessage(this.#outgoing, sequence, message, randomBytes(16), payload));
  }

  #receive(datagram: Buffer): void {
    const opened = openMessage(this.#incoming, datagram);
    if (!opened && parseRmcp(datagram)?.sessionId === this.#incoming.sessionId) this.#unproven += 1;
    if (!opened || !this.#window.accept(opened.sequence)) return;
    this.#lastHeardMs = this.#options.clock.monotonicMs();
    if (opened.payload === "sol") {
      this.#solReceiver?.(opened.message, opened.sequence);
      return;
    }
    const response = parseProvenResponse(opened.message);
    if (!response) return;
    for (const { command, route, sequences, answered } of this.#pending) {
      if (!sequences.has(response.sequence)) continue;
      const answer = route.answer(response, command, response.sequence);
      if (answer === undefined) continue;
      if (answer !== "forwarded") answered(answer);
      return;
    }
  }

  /** The next sequence number. Every packet has its own, even a repeated one; 0 is for packets outside sessions. */
  #nextSessionSequence(): number {
    this.#sessionSequence = this.#sessionSequence === LARGEST_SEQUENCE ? 1 : this.#sessionSequence + 1;
    return this.#sessionSequence;
  }

  #nextRequestSequence(): number {
    this.#requestSequence = (this.#requestSequence + 1) & 0x3f;
    return this.#requestSequence;
  }
}

/** Whether a refusal may result from sending commands together and proves that nothing was done. */
function notExecuted({ completionCode }: Answer, rose: boolean): boolean {
  return completionCode === NODE_BUSY || (rose && completionCode === INSUFFICIENT_PRIVILEGE);
}

function lostAnswer(command: Command, thrown: unknown): unknown {
  const uncertain = command.effect !== "read";
  if (thrown instanceof TimeoutReached) {
    const message = `${command.name}: no answer within ${thrown.afterMs} ms`;
    return new BmcError("timeout", message, { cause: thrown, uncertain });
  }
  if (thrown instanceof BmcError && thrown.class === "unreachable" && uncertain) {
    return new BmcError("unreachable", `${command.name}: ${thrown.message}`, { cause: thrown, uncertain });
  }
  return thrown;
}
