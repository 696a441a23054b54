import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Logger } from "../../../../logger.ts";
import { type ConsoleDriver, type ConsoleSink, SessionWatch } from "../../../operations/console-port.ts";
import { type Answer, type CommandChannel, exchange } from "../commands/channel.ts";
import { type Command, ipmiCommand, NetFn } from "../commands/command.ts";
import { COMPLETED, completionError } from "../commands/completion-code.ts";
import type { IpmiSession } from "../session/session.ts";
import { parseSolPacket, SolReassembly } from "../session/sol-packet.ts";
import { deactivateSol, INSTANCE, readActiveInstances, SOL, solOffered } from "./sol-driver.ts";

/** The completion code of Activate Payload while another session uses it (IPMI 2.0 section 24.1). */
const ALREADY_ACTIVE = 0x80;

/** The payload is encrypted and authenticated, and the BMC asserts its handshake lines immediately (table 24-2). */
const PROTECTED = 0xc0;

/** Activate Payload (section 24.1), for serial over LAN. */
const ACTIVATE_SOL = ipmiCommand("Activate Payload", NetFn.app, 0x48, {
  data: Uint8Array.of(SOL, INSTANCE, PROTECTED, 0, 0, 0),
  needs: "operator",
  effect: "set",
  refusals: {
    [ALREADY_ACTIVE]: { class: "busy", reason: "another session has the console" },
    129: { class: "unsupported", reason: "serial over LAN is disabled on this BMC" },
    130: { class: "busy", reason: "the BMC has as many consoles open as it allows" },
    131: { class: "unsupported", reason: "the BMC does not encrypt serial over LAN" },
    132: { class: "unsupported", reason: "the BMC takes serial over LAN only without encryption" },
  },
});

/** Get Payload Instance Info (section 24.5). */
const GET_INSTANCE = ipmiCommand("Get Payload Instance Info", NetFn.app, 0x4b, {
  data: Uint8Array.of(SOL, INSTANCE),
});

/** Get Session Info (section 22.20), by session ID. */
function getSessionInfo(sessionId: number): Command {
  const data = Buffer.alloc(5, 0xff);
  data.writeUInt32LE(sessionId, 1);
  return ipmiCommand("Get Session Info", NetFn.app, 0x3d, { data });
}

/** The session that uses the instance; 0 if none does. Undefined if the BMC does not say. */
export function parseInstanceOwner({ completionCode, data }: Answer): number | undefined {
  return completionCode === COMPLETED && data.length >= 4 ? data.readUInt32LE(0) : undefined;
}

/** User and address of a session for people; undefined if the BMC does not say. */
export function parseSessionPeer({ completionCode, data }: Answer): string | undefined {
  if (completionCode !== COMPLETED || data.length < 10) return undefined;
  const address = data.subarray(6, 10).join(".");
  return `user ${data.readUInt8(3) & 0x3f} from ${address}`;
}

/** Shorter than the 60 s after which a BMC ends an idle session (section 6.12.15). */
const KEEP_ALIVE_MS = 15_000;
/** A BMC may not answer for this long, for example while its machine starts. */
const SILENT_MS = 20_000;
/** Time for the answer to the deactivation, which only delays the end. */
const RELEASE_MS = 3_000;

/** A channel whose session also carries payloads. */
interface SessionChannel extends CommandChannel {
  readonly current: IpmiSession;
}

export interface IpmiConsoleOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

/** The serial console as a payload of the session (IPMI 2.0 section 15). */
export class IpmiConsole implements ConsoleDriver {
  readonly #channel: SessionChannel;
  readonly #options: IpmiConsoleOptions;
  readonly #watch = new SessionWatch();

  constructor(channel: SessionChannel, options: IpmiConsoleOptions) {
    this.#channel = channel;
    this.#options = options;
  }

  offered(signal: AbortSignal): Promise<true | undefined> {
    return solOffered(this.#channel, signal);
  }

  async holder(signal: AbortSignal): Promise<string | undefined> {
    const active = await readActiveInstances(this.#channel, signal);
    if (!active?.includes(INSTANCE)) return undefined;
    const owner = parseInstanceOwner(await exchange(this.#channel, GET_INSTANCE, signal));
    const peer = owner
      ? parseSessionPeer(await exchange(this.#channel, getSessionInfo(owner), signal))
      : undefined;
    return peer ?? "another session";
  }

  plan(takesOver: boolean): readonly string[] {
    return [
      ...(takesOver ? [`SOL deactivation of instance ${INSTANCE}`] : []),
      `SOL activation of instance ${INSTANCE}`,
      `SOL deactivation of instance ${INSTANCE}`,
    ];
  }

  takeOver(signal: AbortSignal): Promise<void> {
    return deactivateSol(this.#channel, INSTANCE, signal);
  }

  watch(sink: ConsoleSink, until: AbortSignal, signal: AbortSignal): Promise<void> {
    return this.#watch.run((bound) => this.#follow(sink, until, bound), signal);
  }

  /** Ends a watch. Never throws. */
  close(): Promise<void> {
    return this.#watch.close();
  }

  async #follow(sink: ConsoleSink, until: AbortSignal, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const session = this.#channel.current;
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => undefined);
    const reassembly = new SolReassembly();
    session.solReceiver = (payload, sequence) => {
      const packet = parseSolPacket(payload);
      if (!packet) return;
      const { data, answer } = reassembly.take(packet, sequence);
      if (answer) session.sendSol(answer);
      if (packet.overrun) sink.gap("the BMC has dropped output");
      if (data.length > 0) sink.output(data);
      if (packet.deactivated) ended.reject(lost(ENDED));
    };
    let isOpen = false;
    try {
      await this.#activate(session, signal);
      isOpen = true;
      sink.opened();
      await Promise.race([this.#keepAlive(session, until, signal), ended.promise]);
    } catch (thrown) {
      isOpen &&= !(thrown instanceof LostConsole);
      if (!isOpen && !(thrown instanceof LostConsole))
        await this.#release((limit) => this.#endOwn(session, limit));
      throw thrown;
    } finally {
      session.solReceiver = undefined;
      if (isOpen) await this.#release((limit) => deactivateSol(this.#channel, INSTANCE, limit));
    }
  }

  /** Activates the console. Throws `LostConsole` if the BMC refused. */
  async #activate(session: IpmiSession, signal: AbortSignal): Promise<void> {
    const answer = await exchange(this.#channel, ACTIVATE_SOL, signal);
    if (answer.completionCode === COMPLETED) return;
    // A repeated packet finds the console that its first copy has opened.
    if (answer.completionCode === ALREADY_ACTIVE && (await this.#isOwner(session, signal))) return;
    const { class: errorClass, message } = completionError(
      answer.command,
      answer.completionCode,
      answer.level,
    );
    throw new LostConsole(errorClass, message);
  }

  async #isOwner(session: IpmiSession, signal: AbortSignal): Promise<boolean> {
    return parseInstanceOwner(await exchange(this.#channel, GET_INSTANCE, signal)) === session.bmcId;
  }

  /** Keeps the session alive until `until` aborts. Throws when the console no longer belongs to this session. */
  async #keepAlive(session: IpmiSession, until: AbortSignal, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([until, signal]);
    let before: number | undefined;
    while (!either.aborted) {
      const owner = await this.#owner(session, signal);
      if (before !== undefined && owner !== undefined && owner !== before) {
        throw lost(owner === 0 ? ENDED : "another session has taken over the console");
      }
      before ??= owner;
      await this.#options.clock.sleep(KEEP_ALIVE_MS, either).catch(() => undefined);
    }
    signal.throwIfAborted();
  }

  /**
   * The owner of the console; undefined if the BMC does not say. Some seconds of silence do not mean a dropped session.
   * Another session is opened only after that, because it ends this one and its console.
   */
  async #owner(session: IpmiSession, signal: AbortSignal): Promise<number | undefined> {
    const askedMs = this.#options.clock.monotonicMs();
    try {
      const [answer] = await session.run([GET_INSTANCE], { limitMs: SILENT_MS, signal });
      return answer && parseInstanceOwner(answer);
    } catch (thrown) {
      if (BmcError.from(thrown).class !== "timeout") throw thrown;
      // Output of the machine shows that the session is alive.
      if (session.lastHeardMs > askedMs) return undefined;
    }
    const answer = await exchange(this.#channel, GET_INSTANCE, signal);
    if (this.#channel.current !== session) throw lost("the BMC has dropped the session");
    return parseInstanceOwner(answer);
  }

  /** Ends the console after an activation without an answer. It may belong to this session or to another one. */
  async #endOwn(session: IpmiSession, signal: AbortSignal): Promise<void> {
    if (await this.#isOwner(session, signal)) await deactivateSol(this.#channel, INSTANCE, signal);
  }

  /** Releases the console within a time limit. Never throws. */
  async #release(end: (limit: AbortSignal) => Promise<void>): Promise<void> {
    const { clock, log } = this.#options;
    const limit = new AbortController();
    const over = new AbortController();
    clock.sleep(RELEASE_MS, over.signal).then(
      () => limit.abort(new BmcError("timeout", `no answer within ${RELEASE_MS} ms`)),
      () => undefined,
    );
    try {
      await end(limit.signal);
    } catch (thrown) {
      const reason = BmcError.from(thrown).message;
      log.warn({ reason }, "console not deactivated, closing the session");
    } finally {
      over.abort();
    }
  }
}

const ENDED = "the BMC has ended the console";

/** The console does not, or no longer, belong to this session, so there is nothing to release. */
class LostConsole extends BmcError {}

function lost(reason: string): LostConsole {
  return new LostConsole("timeout", reason);
}
