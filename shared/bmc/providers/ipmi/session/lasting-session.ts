import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Logger } from "../../../../logger.ts";
import { caught } from "../../../operations/read-back.ts";
import { type Answer, type CommandChannel, UnansweredCommand } from "../commands/channel.ts";
import type { Command } from "../commands/command.ts";
import { GET_DEVICE_ID } from "../commands/device-id.ts";
import { waitAfterCopyMs } from "./retransmission.ts";
import type { IpmiSession } from "./session.ts";

/** How many copies stay unanswered before a session counts as silent. */
const SILENT_COPIES = 3;
/** The time that these copies take. */
const SILENT_MS = 3_500;

/** For the answers on a session that was opened because another was silent. */
const AFRESH_LIMIT_MS = 10_000;

export interface LastingSessionOptions {
  readonly first: IpmiSession;
  /** Another session with the same BMC, within `limitMs`. */
  readonly renew: (limitMs: number, signal: AbortSignal) => Promise<IpmiSession>;
  /** For the answers of one flight, a renewal in between included. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Commands over a session that outlives the BMC's memory of it. A BMC that restarted, or ended an idle session,
 * silently drops its packets; a handshake that succeeds beside a silent session distinguishes that from a BMC
 * that is slow. What can be repeated goes out again on the new session; what cannot is a `timeout` at once, not
 * after the whole wait. One flight at a time; the owner closes it.
 */
export class LastingSession implements CommandChannel {
  readonly #options: LastingSessionOptions;
  readonly #ending = new AbortController();
  #current: IpmiSession;
  #flightsBefore = 0;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: LastingSessionOptions) {
    this.#options = options;
    this.#current = options.first;
  }

  /** Flights that waited for an answer; packets that travel together are one. */
  get flights(): number {
    return this.#flightsBefore + this.#current.flights;
  }

  /** The session in use; another one after the BMC has dropped it. */
  get current(): IpmiSession {
    return this.#current;
  }

  run(commands: readonly Command[], signal: AbortSignal): Promise<readonly Answer[]> {
    const turn = this.#queue.then(() => this.#carryOut(commands, signal));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  /** Whether the BMC has dropped the session in use: it does not answer in it. Undefined where it cannot be reached. */
  async isForgotten(signal: AbortSignal): Promise<boolean | undefined> {
    const limitMs = SILENT_MS;
    const failed = await caught(() => this.#current.run([GET_DEVICE_ID], { limitMs, signal }));
    signal.throwIfAborted();
    if (failed && failed.class !== "timeout") return undefined;
    return failed !== undefined;
  }

  /** Ends what is under way and gives the BMC's slot back. */
  async close(): Promise<void> {
    this.#ending.abort(new BmcError("cancelled", "the session was closed"));
    await this.#queue;
    this.#current.close();
  }

  async #carryOut(commands: readonly Command[], signal: AbortSignal): Promise<readonly Answer[]> {
    const { clock, requestTimeoutMs } = this.#options;
    const endMs = clock.monotonicMs() + requestTimeoutMs;
    const ended = AbortSignal.any([signal, this.#ending.signal]);
    const outcome = await this.#answersOrSession(commands, endMs, ended);
    if ("answers" in outcome) return outcome.answers;
    this.#replaceCurrent(outcome.session);
    // The state must show whether a change was carried out, before anything is sent again.
    const change = commands.find(({ effect }) => effect !== "read");
    if (change) {
      const message = `${change.name}: no answer, and the BMC has dropped the session meanwhile`;
      throw new BmcError("timeout", message, { uncertain: true });
    }
    return this.#runAfresh(commands, Math.ceil(endMs - clock.monotonicMs()), ended);
  }

  /** On a session that has just been opened: what is not answered there, the BMC does not answer. */
  async #runAfresh(
    commands: readonly Command[],
    leftMs: number,
    signal: AbortSignal,
  ): Promise<readonly Answer[]> {
    const { clock } = this.#options;
    const session = this.#current;
    const openedMs = session.lastHeardMs;
    const limitMs = Math.min(leftMs, AFRESH_LIMIT_MS);
    const done = new AbortController();
    const poking = pokeAgain(session, clock, AbortSignal.any([signal, done.signal]));
    try {
      return await session.run(commands, { limitMs, signal });
    } catch (thrown) {
      if (BmcError.from(thrown).class !== "timeout") throw thrown;
      const name = commands.map((command) => command.name).join(", ");
      if (session.lastHeardMs > openedMs) throw new UnansweredCommand(name, thrown);
      if (session.unproven === 0) throw thrown;
      const text = `${name}: all packets of the BMC within the session fail their integrity check`;
      throw new BmcError("protocol", text, { cause: thrown });
    } finally {
      done.abort();
      await poking;
    }
  }

  /** The answers, or the session that takes the place of a silent one. */
  async #answersOrSession(
    commands: readonly Command[],
    endMs: number,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const decided = new AbortController();
    const either = AbortSignal.any([signal, decided.signal]);
    const limits = { limitMs: this.#options.requestTimeoutMs, signal: either };
    const answering = this.#current.run(commands, limits).then((answers) => ({ answers }));
    const renewing = this.#renewal(commands, endMs, either);
    let outcome: Outcome | undefined;
    try {
      // Where no other session can be had, the silent one decides.
      outcome = (await Promise.race([answering, renewing])) ?? (await answering);
      return outcome;
    } finally {
      decided.abort();
      const [, renewal] = await Promise.allSettled([answering, renewing]);
      const spare = renewal.status === "fulfilled" ? renewal.value : undefined;
      if (spare && spare !== outcome) spare.session.close();
    }
  }

  /** Waits for silence. Undefined if no other session can be opened, which need not be the end of this one. */
  async #renewal(
    commands: readonly Command[],
    endMs: number,
    signal: AbortSignal,
  ): Promise<Renewal | undefined> {
    const { clock, log, renew } = this.#options;
    const repeats = commands.every(({ effect }) => effect !== "once");
    await this.#silence(repeats, signal);
    log.debug({}, "IPMI session silent, probing BMC with a new handshake");
    try {
      return { session: await renew(endMs - clock.monotonicMs(), signal) };
    } catch (thrown) {
      const error = BmcError.from(thrown);
      if (error.class !== "auth") return undefined;
      const uncertain = commands.some(({ effect }) => effect !== "read");
      throw new BmcError("auth", error.message, { cause: thrown, uncertain });
    }
  }

  /** Resolves when several packets in a row remained without any answer; a command sent once needs others. */
  async #silence(repeats: boolean, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const session = this.#current;
    let heardMs = session.lastHeardMs;
    for (let copy = 0; copy < SILENT_COPIES; copy += 1) {
      if (!repeats && copy > 0) session.poke();
      await clock.sleep(waitAfterCopyMs(copy), signal);
      if (session.lastHeardMs === heardMs) continue;
      heardMs = session.lastHeardMs;
      copy = -1;
    }
  }

  #replaceCurrent(session: IpmiSession): void {
    this.#flightsBefore += this.#current.flights;
    // It may be alive after all, and then its slot is to be freed.
    this.#current.close();
    this.#current = session;
  }
}

/** Until the signal aborts; never throws. */
async function pokeAgain(session: IpmiSession, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let copy = 0; !signal.aborted; copy += 1) {
    await clock.sleep(waitAfterCopyMs(copy), signal).catch(() => undefined);
    if (!signal.aborted) session.poke();
  }
}

interface Renewal {
  readonly session: IpmiSession;
}

type Outcome = { readonly answers: readonly Answer[] } | Renewal;
