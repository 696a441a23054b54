import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Logger } from "../../../../logger.ts";
import { caught } from "../../../operations/read-back.ts";
import { type Answer, type CommandChannel, UnansweredCommand } from "../commands/channel.ts";
import type { Command } from "../commands/command.ts";
import { GET_DEVICE_ID } from "../commands/device-id.ts";
import { waitAfterCopyMs } from "./retransmission.ts";
import type { IpmiSession } from "./session.ts";

/** The number of unanswered copies after which a session counts as silent. */
const SILENT_COPIES = 3;
/** The time that these copies take. */
const SILENT_MS = 3_500;

/** Time for the answers on a session that was opened because another was silent. */
const AFRESH_LIMIT_MS = 10_000;

export interface LastingSessionOptions {
  readonly first: IpmiSession;
  /** Opens another session with the same BMC, within `limitMs`. */
  readonly renew: (limitMs: number, signal: AbortSignal) => Promise<IpmiSession>;
  /** Time for the answers of one flight, including a renewal. */
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Sends commands over a session that survives the BMC's loss of it. A BMC that restarted, or that ended an idle session,
 * silently drops its packets. A successful handshake next to a silent session shows that the BMC is not just slow.
 * Repeatable commands are sent again on the new session; others fail with `timeout` immediately, not after the whole wait.
 * Runs one flight at a time; the owner closes it.
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

  /** The number of flights that waited for an answer; packets that are sent together are one flight. */
  get flights(): number {
    return this.#flightsBefore + this.#current.flights;
  }

  /** The current session; a new one after the BMC has dropped it. */
  get current(): IpmiSession {
    return this.#current;
  }

  run(commands: readonly Command[], signal: AbortSignal): Promise<readonly Answer[]> {
    const turn = this.#queue.then(() => this.#carryOut(commands, signal));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  /**
   * Whether the BMC has dropped the current session, because it does not answer in it. Undefined if the BMC cannot be
   * reached.
   */
  async isForgotten(signal: AbortSignal): Promise<boolean | undefined> {
    const limitMs = SILENT_MS;
    const failed = await caught(() => this.#current.run([GET_DEVICE_ID], { limitMs, signal }));
    signal.throwIfAborted();
    if (failed && failed.class !== "timeout") return undefined;
    return failed !== undefined;
  }

  /** Ends what is in progress and frees the BMC's slot. */
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
    // The state must show whether a change was carried out before anything is sent again.
    const change = commands.find(({ effect }) => effect !== "read");
    if (change) {
      const message = `${change.name}: no answer, and the BMC has dropped the session meanwhile`;
      throw new BmcError("timeout", message, { uncertain: true });
    }
    return this.#runAfresh(commands, Math.ceil(endMs - clock.monotonicMs()), ended);
  }

  /** Runs commands on a session that was just opened. Commands that are not answered there are never answered. */
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

  /** The answers, or the session that replaces a silent one. */
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
      // If no other session can be opened, the silent one decides.
      outcome = (await Promise.race([answering, renewing])) ?? (await answering);
      return outcome;
    } finally {
      decided.abort();
      const [, renewal] = await Promise.allSettled([answering, renewing]);
      const spare = renewal.status === "fulfilled" ? renewal.value : undefined;
      if (spare && spare !== outcome) spare.session.close();
    }
  }

  /** Waits for silence and opens another session. Undefined if none can be opened, which may not be the end of this one. */
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

  /** Resolves when several consecutive packets had no answer. A command that is sent only once needs additional packets. */
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
    // The session may still be alive, so its slot must be freed.
    this.#current.close();
    this.#current = session;
  }
}

/** Sends harmless requests until the signal aborts. Never throws. */
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
