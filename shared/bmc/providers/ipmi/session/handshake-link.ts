import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { TimeoutReached } from "../../../../timeout.ts";
import type { Tracer } from "../../../../tracing/tracer.ts";
import type { TappedIpmi, WireTap } from "../../../../tracing/wire-tap.ts";
import { parseHandshakeAnswer } from "./open-session.ts";
import { buildRakp3Refusal } from "./rakp.ts";
import { sendUntilAnswered } from "./retransmission.ts";
import { buildHandshakePacket, PayloadType, parseHandshakePacket } from "./rmcp.ts";
import type { UdpTransport } from "./transport.ts";

/** An answer of the handshake with the request that it belongs to. */
export interface MatchedAnswer {
  readonly status: number;
  readonly payload: Buffer;
}

export interface ExchangeLimits {
  readonly limitMs: number;
  readonly repeat: boolean;
}

export interface HandshakeMessage {
  readonly name: string;
  /** The payload type. */
  readonly type: number;
}

export interface HandshakeOptions {
  readonly transport: UdpTransport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly tracer: Tracer;
  readonly tap?: WireTap | undefined;
}

/** The parts that all messages of one handshake share: the connection, the remaining time, and the message tags. */
export class HandshakeLink {
  readonly transport: UdpTransport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly #tracer: Tracer;
  readonly #tap: WireTap | undefined;
  readonly #limitMs: number;
  readonly #startedMs: number;
  /** Tags separate the answers to one message from late answers to an earlier one. */
  #tag = 0;
  #flights = 0;
  #heard = false;

  constructor(options: HandshakeOptions, limitMs: number) {
    const { transport, clock, signal, tracer, tap } = options;
    this.transport = transport;
    this.clock = clock;
    this.signal = signal;
    this.#tracer = tracer;
    this.#tap = tap;
    this.#limitMs = limitMs;
    this.#startedMs = clock.monotonicMs();
  }

  get flights(): number {
    return this.#flights;
  }

  get leftMs(): number {
    return this.#limitMs - (this.clock.monotonicMs() - this.#startedMs);
  }

  nextTag(): number {
    this.#tag = (this.#tag + 1) & 0xff;
    return this.#tag;
  }

  send(payloadType: number, payload: Buffer): void {
    this.transport.send(buildHandshakePacket(payloadType, payload));
  }

  /** Makes one round trip of at most `limitMs`; `name` is the message's. Throws `TimeoutReached`. */
  async exchange<T>(
    name: string,
    send: () => void,
    match: (datagram: Buffer) => T | undefined,
    limits: ExchangeLimits,
  ): Promise<T> {
    const { answer, stop } = this.transport.first(match);
    this.#flights += 1;
    try {
      const value = await this.#tracer.span({ name, kind: "client" }, () =>
        sendUntilAnswered({ send, answer, ...limits }, this.clock, this.signal),
      );
      this.#heard = true;
      return value;
    } finally {
      stop();
    }
  }

  /** Makes one round trip of a handshake message. A recording contains the status of the answer. */
  async ask<T extends { readonly status: number } | true>(
    { name, type }: HandshakeMessage,
    send: () => void,
    match: (datagram: Buffer) => T | undefined,
    limits: ExchangeLimits,
  ): Promise<T> {
    const startedMs = performance.now();
    const report = (rest: Partial<TappedIpmi>) =>
      this.#tap?.ipmi({
        command: name,
        netFn: undefined,
        code: type,
        data: undefined,
        startedMs,
        endedMs: performance.now(),
        ...rest,
      });
    try {
      const answered = await this.exchange(name, send, match, limits);
      if (answered !== true) report({ completionCode: answered.status });
      return answered;
    } catch (thrown) {
      report({ error: thrown });
      throw thrown;
    }
  }

  /** Whether the BMC has answered anything. */
  get heard(): boolean {
    return this.#heard;
  }

  /** Frees the BMC's slot of an abandoned handshake. There is no answer. */
  abandon(bmcId: number, status: number): void {
    this.send(PayloadType.rakp3, buildRakp3Refusal(this.nextTag(), status, bmcId));
  }

  /** The error of an expired wait: whether the BMC has ever answered. */
  timedOut(cause: TimeoutReached): BmcError {
    return this.#heard
      ? new BmcError("timeout", `the IPMI handshake was not complete within ${this.#limitMs} ms`, { cause })
      : new BmcError("unreachable", `no IPMI answer within ${this.#limitMs} ms`, { cause });
  }
}

/** The answer of this type to the message with this tag and console; undefined for any other datagram. */
export function matchAnswer(
  datagram: Buffer,
  type: number,
  expected: { readonly tag: number; readonly consoleId: number },
): MatchedAnswer | undefined {
  const payload = parseHandshakePacket(datagram, type);
  const head = payload && parseHandshakeAnswer(payload);
  if (!payload || head?.tag !== expected.tag) return undefined;
  // Only an error may be too short to contain the console's session ID.
  if (head.consoleId === undefined) return head.status === 0 ? undefined : { status: head.status, payload };
  return head.consoleId === expected.consoleId ? { status: head.status, payload } : undefined;
}
