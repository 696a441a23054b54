import { randomBytes } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { TimeoutReached } from "../../timeout.ts";
import { BmcError } from "../errors.ts";
import type { Answer, CommandChannel } from "./channel.ts";
import { type Command, closeSession, setSessionPrivilege } from "./command.ts";
import {
  COMPLETED,
  completionError,
  DUPLICATED_REQUEST,
  INSUFFICIENT_PRIVILEGE,
  NODE_BUSY,
} from "./completion-code.ts";
import type { Established } from "./handshake.ts";
import { buildLanRequest, type LanResponse, parseLanResponse } from "./message.ts";
import type { Privilege } from "./open-session.ts";
import { sendUntilAnswered } from "./retransmission.ts";
import { openMessage, type Seal, sealMessage } from "./sealed-packet.ts";
import { SequenceWindow } from "./sequence-window.ts";
import type { UdpTransport } from "./transport.ts";

const LARGEST_SEQUENCE = 0xff_ff_ff_ff;

export interface SessionOptions {
  readonly established: Established;
  /** The highest level the session may rise to. */
  readonly privilege: Privilege;
  /** For one answer, however often the request is repeated. */
  readonly requestTimeoutMs: number;
  readonly transport: UdpTransport;
  readonly clock: Clock;
}

interface Pending {
  readonly command: Command;
  readonly sequences: Set<number>;
  answered(response: LanResponse): void;
  failed(error: BmcError): void;
}

/** Commands over one established session, one flight at a time. The owner closes it. */
export class IpmiSession implements CommandChannel {
  readonly #options: SessionOptions;
  readonly #outgoing: Seal;
  readonly #incoming: Seal;
  readonly #window = new SequenceWindow();
  readonly #pending = new Set<Pending>();
  #sessionSequence = 0;
  #requestSequence = 0;
  #raised = false;
  #flights: number;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: SessionOptions) {
    const { suite, keys, bmcId, consoleId, flights } = options.established;
    this.#options = options;
    this.#flights = flights;
    this.#outgoing = { suite, keys, sessionId: bmcId };
    this.#incoming = { suite, keys, sessionId: consoleId };
    options.transport.subscribe({
      datagram: (datagram) => this.#receive(datagram),
      failed: (error) => {
        for (const pending of [...this.#pending]) pending.failed(error);
      },
    });
  }

  /** Flights that waited for an answer; packets that travel together are one. */
  get flights(): number {
    return this.#flights;
  }

  run(commands: readonly Command[], signal: AbortSignal): Promise<readonly Answer[]> {
    const turn = this.#queue.then(() => this.#flight(commands, signal));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  /** Sends Close Session and does not wait: BMCs have few slots, and no answer would change anything. */
  close(): void {
    this.#send(closeSession(this.#outgoing.sessionId), this.#nextRequestSequence());
  }

  /**
   * The session begins at level USER. What raises it travels with the first commands that need more; a BMC
   * that handled these first says so, has not executed them, and gets them again.
   */
  async #flight(commands: readonly Command[], signal: AbortSignal): Promise<readonly Answer[]> {
    signal.throwIfAborted();
    const { privilege } = this.#options;
    const mustRise =
      !this.#raised && privilege !== "user" && commands.some(({ needs }) => needs === "operator");
    const together = mustRise ? [setSessionPrivilege(privilege), ...commands] : commands;
    const all = await this.#exchangeAll(together, signal);
    const [rise, answers] = mustRise ? [all[0], all.slice(1)] : [undefined, all];
    if (rise?.completionCode === COMPLETED) this.#raised = true;
    else if (rise && answers.some(({ completionCode }) => completionCode === INSUFFICIENT_PRIVILEGE)) {
      throw completionError(rise.command, rise.completionCode);
    }
    const settled: Answer[] = [];
    for (const answer of answers) {
      const again = together.length > 1 && notExecuted(answer, mustRise);
      settled.push(...(again ? await this.#exchangeAll([answer.command], signal) : [answer]));
    }
    return settled;
  }

  async #exchangeAll(commands: readonly Command[], signal: AbortSignal): Promise<Answer[]> {
    this.#flights += 1;
    const outcomes = await Promise.allSettled(commands.map((command) => this.#exchange(command, signal)));
    return outcomes.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
  }

  async #exchange(command: Command, signal: AbortSignal): Promise<Answer> {
    const { clock, requestTimeoutMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<LanResponse>();
    let sequence = this.#nextRequestSequence();
    const pending: Pending = {
      command,
      sequences: new Set([sequence]),
      answered: (response) => {
        if (response.completionCode !== DUPLICATED_REQUEST) return resolve(response);
        // The answer to the first copy is lost or late; another copy needs another number to be answered.
        sequence = this.#nextRequestSequence();
        pending.sequences.add(sequence);
      },
      failed: reject,
    };
    promise.catch(() => undefined);
    this.#pending.add(pending);
    try {
      const { completionCode, data } = await sendUntilAnswered(
        {
          send: () => this.#send(command, sequence),
          answer: promise,
          limitMs: requestTimeoutMs,
          repeat: command.effect !== "once",
        },
        clock,
        signal,
      );
      return { command, completionCode, data };
    } catch (thrown) {
      throw lostAnswer(command, thrown);
    } finally {
      this.#pending.delete(pending);
    }
  }

  #send(command: Command, requestSequence: number): void {
    const message = buildLanRequest({ ...command, sequence: requestSequence });
    const packet = sealMessage(this.#outgoing, this.#nextSessionSequence(), message, randomBytes(16));
    this.#options.transport.send(packet);
  }

  #receive(datagram: Buffer): void {
    const opened = openMessage(this.#incoming, datagram);
    if (!opened || !this.#window.accept(opened.sequence)) return;
    const response = parseLanResponse(opened.message);
    if (!response) return;
    for (const pending of this.#pending) {
      const { command, sequences } = pending;
      if (command.netFn !== response.netFn || command.command !== response.command) continue;
      if (!sequences.has(response.sequence)) continue;
      pending.answered(response);
      return;
    }
  }

  /** Every packet has its own, repeated ones too; 0 is for packets outside sessions. */
  #nextSessionSequence(): number {
    this.#sessionSequence = this.#sessionSequence === LARGEST_SEQUENCE ? 1 : this.#sessionSequence + 1;
    return this.#sessionSequence;
  }

  #nextRequestSequence(): number {
    this.#requestSequence = (this.#requestSequence + 1) & 0x3f;
    return this.#requestSequence;
  }
}

/** Refusals that travelling together may have caused, and that say nothing was done. */
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
