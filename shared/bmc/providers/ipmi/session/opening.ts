import { randomInt } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Logger } from "../../../../logger.ts";
import { TimeoutReached } from "../../../../timeout.ts";
import type { Privilege } from "../commands/command.ts";
import { type CipherSuite, type CipherSuiteId, type SuitePlan, suite3Remedy } from "./cipher-suite.ts";
import { type HandshakeLink, matchAnswer } from "./handshake-link.ts";
import {
  handshakeError,
  refusesSuite,
  STATUS_INSUFFICIENT_RESOURCES,
  STATUS_INVALID_INTEGRITY_CHECK,
  STATUS_OK,
} from "./handshake-status.ts";
import {
  buildOpenSessionRequest,
  keepsSuite,
  type OpenSessionResponse,
  parseOpenSessionResponse,
} from "./open-session.ts";
import { PayloadType } from "./rmcp.ts";
import { answeredVersion, VERSION_QUESTION } from "./version-question.ts";

/** How long a failed handshake waits for answers to Open Session that are still in flight. */
const LINGER_MS = 250;

/** 1.5 s of silence. */
const ASK_VERSION_AFTER_COPIES = 3;

/** A slot in the BMC's session table. Nothing is proven yet. */
export interface Opened {
  readonly suite: CipherSuite;
  readonly consoleId: number;
  readonly bmcId: number;
  /** How long the BMC took, including retransmissions. */
  readonly answeredAfterMs: number;
}

interface Asked {
  readonly tag: number;
  readonly consoleId: number;
  readonly suite: CipherSuite;
}

interface Answered {
  readonly asked: Asked;
  readonly status: number;
  /** Undefined for an error status and for a malformed response. */
  readonly response: OpenSessionResponse | undefined;
}

/** Performs Open Session: finds a cipher suite that both sides support, even if it is repeated. */
export class Opening {
  readonly #link: HandshakeLink;
  readonly #log: Logger;
  readonly #privilege: Privilege;
  readonly #plan: SuitePlan;
  /** Suites that the BMC has not refused. */
  #suites: readonly CipherSuite[];
  /** Suites for which the BMC had no slot. Some BMCs answer this for a suite that they do not support. */
  readonly #full = new Set<CipherSuiteId>();
  /** Whether the BMC has accepted a suite that must not be used. */
  #offersForbidden = false;
  /** Tags of copies without an answer. */
  readonly #unanswered = new Set<number>();
  readonly #settled = Promise.withResolvers<void>();
  #isSettling = false;

  constructor(link: HandshakeLink, log: Logger, privilege: Privilege, plan: SuitePlan) {
    this.#link = link;
    this.#log = log;
    this.#privilege = privilege;
    this.#plan = plan;
    this.#suites = plan.asked;
  }

  /** The suite to begin with next time; undefined if this one was chosen because of silence, which may be chance. */
  preferred(suite: CipherSuite): CipherSuiteId | undefined {
    return suite.id === this.#suites[0]?.id ? suite.id : undefined;
  }

  /** Opens with the first suite that the BMC accepts. Refused suites are not tried again. */
  async open(): Promise<Opened> {
    try {
      return await this.#open();
    } catch (thrown) {
      // A BMC may silently drop a suite that it does not support.
      if (thrown instanceof TimeoutReached && this.#offersForbidden) throw this.#noneIsOffered(thrown);
      throw thrown;
    }
  }

  /**
   * Waits briefly after a failed handshake for answers in flight, because only an answer contains the slot that it has
   * taken, which must be freed.
   */
  async settle(): Promise<void> {
    const { clock, heard, signal } = this.#link;
    if (this.#unanswered.size === 0) return;
    this.#isSettling = true;
    const nap = new AbortController();
    // A BMC that has never answered is not worth waiting for.
    const limitMs = signal.aborted || heard ? LINGER_MS : 0;
    await Promise.race([this.#settled.promise, clock.sleep(limitMs, nap.signal)]);
    nap.abort();
    // In a process that was busy, timers run before arrived data is read.
    await setImmediate();
  }

  async #open(): Promise<Opened> {
    for (;;) {
      const startedMs = this.#link.clock.monotonicMs();
      const { asked, status, response } = await this.#ask();
      const { suite, consoleId } = asked;
      if (status === STATUS_INSUFFICIENT_RESOURCES) {
        this.#setAside(suite);
        continue;
      }
      if (refusesSuite("Open Session", status)) {
        this.#drop(suite, status);
        continue;
      }
      if (status !== STATUS_OK) throw handshakeError("Open Session", status);
      if (!response) throw new BmcError("protocol", "Open Session: the answer is malformed");
      if (!keepsSuite(response, suite)) {
        // BMCs made with pyghmi name their own suite instead of refusing another one. It counts only when it is requested. They
        // end at a refused handshake, so this one is left to expire.
        if (this.#suites.some((other) => keepsSuite(response, other))) {
          this.#drop(suite, STATUS_OK);
          continue;
        }
        this.#link.abandon(response.bmcId, STATUS_INVALID_INTEGRITY_CHECK);
        throw new BmcError("protocol", "Open Session: the BMC selected algorithms that were not requested");
      }
      if (!this.#plan.allowed.has(suite.id)) {
        this.#link.abandon(response.bmcId, STATUS_INSUFFICIENT_RESOURCES);
        this.#offersForbidden = true;
        this.#drop(suite, STATUS_OK);
        continue;
      }
      const answeredAfterMs = this.#link.clock.monotonicMs() - startedMs;
      return { suite, consoleId, bmcId: response.bmcId, answeredAfterMs };
    }
  }

  /** Requests another allowed suite from now on, unless the BMC has refused all. */
  leave(suite: CipherSuite): boolean {
    const others = this.#suites.filter(({ id }) => id !== suite.id && this.#plan.allowed.has(id));
    if (others.length === 0) return false;
    this.#suites = others;
    return true;
  }

  /** Sets a suite aside. Throws `busy` if no allowed suite is left. */
  #setAside({ id }: CipherSuite): void {
    this.#full.add(id);
    if (this.#candidates().length > 0) return;
    this.#full.clear();
    const { class: errorClass, message } = handshakeError("Open Session", STATUS_INSUFFICIENT_RESOURCES);
    throw new BmcError(errorClass, id === 17 ? message : `${message}, or no cipher suite ${id}`);
  }

  #candidates(): readonly CipherSuite[] {
    if (this.#full.size === 0) return this.#suites;
    return this.#suites.filter(({ id }) => this.#plan.allowed.has(id) && !this.#full.has(id));
  }

  #drop(suite: CipherSuite, status: number): void {
    this.#suites = this.#suites.filter(({ id }) => id !== suite.id);
    this.#log.debug({ suite: suite.id }, "cipher suite refused");
    if (this.#suites.length > 0) return;
    const refusal = status === STATUS_OK ? undefined : handshakeError("Open Session", status);
    // A level that is refused for every suite does not concern the suites.
    throw refusal?.class === "auth" && !this.#offersForbidden ? refusal : this.#noneIsOffered(refusal);
  }

  #noneIsOffered(cause: unknown): BmcError {
    const asked = this.#plan.asked.map(({ id }) => id).join(" and ");
    const reason = this.#offersForbidden
      ? `the BMC offers cipher suite 3 and not 17; ${suite3Remedy("ipmi")}`
      : `the BMC offers no cipher suite out of ${asked}`;
    return new BmcError("unsupported", reason, { cause });
  }

  /**
   * Sends the request. Some BMCs silently drop an unknown suite, so the copies alternate the suites. An answer to any of
   * them counts, even a late one.
   */
  async #ask(): Promise<Answered> {
    const link = this.#link;
    const sent: Asked[] = [];
    const match = (datagram: Buffer) => findAnswer(datagram, sent);
    const matchOrDenial = (datagram: Buffer) =>
      match(datagram) ?? (answeredVersion(datagram) === "1.5" || undefined);
    const send = () => {
      const suites = this.#candidates();
      const suite = suites[sent.length % suites.length];
      if (!suite) throw new BmcError("internal", "no cipher suite to try");
      const asked = { tag: link.nextTag(), consoleId: randomInt(1, 2 ** 32), suite };
      sent.push(asked);
      this.#unanswered.add(asked.tag);
      const request = buildOpenSessionRequest({ ...asked, privilege: this.#privilege });
      link.send(PayloadType.openSessionRequest, request);
      if (sent.length === ASK_VERSION_AFTER_COPIES) link.transport.send(VERSION_QUESTION);
    };
    // Each answered copy takes its own slot, and BMCs have few.
    const watch = this.#abandonAllBut(match);
    try {
      const message = { name: "Open Session", type: PayloadType.openSessionRequest };
      const answered = await link.ask<Answered | true>(message, send, matchOrDenial, {
        limitMs: link.leftMs,
        repeat: true,
      });
      if (answered === true)
        throw new BmcError("unsupported", "the BMC supports only IPMI 1.5, without RMCP+");
      watch.keep(answered.asked);
      return answered;
    } catch (thrown) {
      watch.keep(undefined);
      throw thrown;
    }
  }

  /** Watches all answers to the copies and frees the slots that are not kept. */
  #abandonAllBut(match: (datagram: Buffer) => Answered | undefined) {
    const link = this.#link;
    const opened: Answered[] = [];
    let decided = false;
    let kept: Asked | undefined;
    const giveBack = ({ asked, response }: Answered) => {
      if (response && asked !== kept) link.abandon(response.bmcId, STATUS_INSUFFICIENT_RESOURCES);
    };
    link.transport.subscribe({
      datagram: (datagram) => {
        const answered = match(datagram);
        if (!answered) return;
        this.#unanswered.delete(answered.asked.tag);
        if (decided) giveBack(answered);
        else opened.push(answered);
        if (this.#isSettling && this.#unanswered.size === 0) this.#settled.resolve();
      },
      failed: () => this.#settled.resolve(),
    });
    return {
      keep: (asked: Asked | undefined) => {
        decided = true;
        kept = asked;
        for (const answered of opened) giveBack(answered);
      },
    };
  }
}

function findAnswer(datagram: Buffer, sent: readonly Asked[]): Answered | undefined {
  for (const asked of sent) {
    const answer = matchAnswer(datagram, PayloadType.openSessionResponse, asked);
    if (!answer) continue;
    const { status, payload } = answer;
    return { asked, status, response: status === STATUS_OK ? parseOpenSessionResponse(payload) : undefined };
  }
  return undefined;
}
