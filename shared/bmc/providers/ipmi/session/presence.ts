import { randomInt } from "node:crypto";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { TimeoutReached, withTimeout } from "../../../../timeout.ts";
import { UdpTransport } from "./transport.ts";
import { answeredVersion, VERSION_QUESTION } from "./version-question.ts";

/**
 * What a UDP port reveals without a login: only RMCP, or IPMI with its newest version; `unknown` if only the pong mentions
 * IPMI.
 */
export type Presence = "rmcp" | "1.5" | "2.0" | "unknown";

export interface PresenceOptions {
  readonly host: string;
  readonly port: number;
  /** The timeout for both copies of the requests together. */
  readonly timeoutMs: number;
  /** Awaited before each copy. */
  readonly turn: (signal: AbortSignal) => Promise<void>;
}

/** RMCP version 1.0, no acknowledgement, class ASF, and the enterprise number of the ASF. */
const ASF_HEADER = "0600ff06" + "000011be";
const PONG = 0x40;
const PONG_BYTES = 28;
/** Two copies, because UDP loses packets. */
const COPIES = 2;

/** A presence ping (ASF 2.0 section 3.2.4.2). Tag 255 would request no answer (section 3.2.3.2). */
function presencePing(tag: number): Buffer {
  return Buffer.concat([Buffer.from(`${ASF_HEADER}80`, "hex"), Buffer.from([tag, 0, 0])]);
}

/**
 * Whether a pong with this tag lists IPMI: bit 7 of the supported entities (ASF 2.0 section 3.2.4.3). Undefined for anything
 * else.
 */
function readPong(datagram: Buffer, tag: number): { readonly hasIpmi: boolean } | undefined {
  if (datagram.length < PONG_BYTES || datagram[0] !== 0x06 || datagram[3] !== 0x06) return undefined;
  if (datagram.readUInt32BE(4) !== 0x11be || datagram[8] !== PONG || datagram[9] !== tag) return undefined;
  return { hasIpmi: ((datagram[20] ?? 0) & 0x80) !== 0 };
}

/**
 * Finds out without a login whether a BMC is present, with an RMCP presence ping and a request for the IPMI version, because
 * some BMCs answer only one of them. Undefined if nothing valid answers. Rejects only with the signal's reason.
 */
export async function detectPresence(
  { host, port, timeoutMs, turn }: PresenceOptions,
  signal: AbortSignal,
): Promise<Presence | undefined> {
  const tag = randomInt(0, 255);
  let presence: Presence | undefined;
  let transport: UdpTransport | undefined;
  const settled = Promise.withResolvers<void>();
  try {
    transport = await UdpTransport.open(host, port, timeoutMs, signal);
    transport.subscribe({
      datagram: (datagram) => {
        const pong = readPong(datagram, tag);
        const version = answeredVersion(datagram);
        if (version) presence = version;
        else if (pong) presence ??= pong.hasIpmi ? "unknown" : "rmcp";
        if (version) settled.resolve();
      },
      failed: () => settled.resolve(),
    });
    for (let copy = 0; copy < COPIES && presence === undefined; copy += 1) {
      await turn(signal);
      transport.send(presencePing(tag));
      transport.send(VERSION_QUESTION);
      const isOver = await endsWithin(timeoutMs / COPIES, settled.promise, signal);
      if (isOver) break;
    }
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof BmcError)) throw thrown;
  } finally {
    await transport?.close();
  }
  return presence;
}

async function endsWithin(ms: number, work: Promise<void>, signal: AbortSignal): Promise<boolean> {
  try {
    await withTimeout(ms, signal, () => work);
    return true;
  } catch (thrown) {
    if (thrown instanceof TimeoutReached) return false;
    throw thrown;
  }
}
