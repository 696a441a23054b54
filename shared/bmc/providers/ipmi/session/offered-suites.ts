import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { TimeoutReached } from "../../../../timeout.ts";
import { untraced } from "../../../../tracing/tracer.ts";
import { ipmiCommand, NetFn } from "../commands/command.ts";
import { COMPLETED, completionError } from "../commands/completion-code.ts";
import { HandshakeLink } from "./handshake-link.ts";
import { buildLanRequest, parseLanResponse } from "./message.ts";
import { buildHandshakePacket, PayloadType, parseHandshakePacket } from "./rmcp.ts";
import { UdpTransport } from "./transport.ts";

export interface OfferedSuitesOptions {
  readonly host: string;
  readonly port: number;
  /** The timeout for each part of the list. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Called with the bytes of each part. */
  readonly received: (bytes: number) => void;
}

const NAME = "Get Channel Cipher Suites";
const COMMAND = 0x54;
/** The channel of the request. */
const THIS_CHANNEL = 0x0e;
/** Lists cipher suites instead of algorithms. */
const BY_SUITE = 0x80;
/** A shorter part is the last one; the index has six bits. */
const PART_BYTES = 16;
const MOST_PARTS = 64;

/** The framing of a message outside sessions. */
interface Framing {
  build(message: Buffer): Buffer;
  /** Parses a datagram; undefined for any other. */
  parse(datagram: Buffer): Buffer | undefined;
}

const RMCP_PLUS: Framing = {
  build: (message) => buildHandshakePacket(PayloadType.ipmi, message),
  parse: (datagram) => parseHandshakePacket(datagram, PayloadType.ipmi),
};
/** RMCP header, no authentication and session 0 (IPMI 2.0 table 13-8), followed by the length. */
const HEAD = Buffer.from("0600ff07000000000000000000", "hex");
const VERSION_1_5: Framing = {
  build: (message) => Buffer.concat([HEAD, Buffer.of(message.length), message]),
  parse: (datagram) =>
    datagram[3] === HEAD[3] && datagram[4] === 0
      ? datagram.subarray(HEAD.length + 1, HEAD.length + 1 + (datagram[HEAD.length] ?? 0))
      : undefined,
};

/**
 * The cipher suite records that a BMC offers (IPMI 2.0 section 22.15 and table 22-18), in the list's order. Requested
 * outside sessions, like clients that select a suite from it. Rejects with a `BmcError`.
 */
export async function readOfferedSuites(
  { host, port, timeoutMs, clock, received }: OfferedSuitesOptions,
  signal: AbortSignal,
): Promise<Buffer> {
  const transport = await UdpTransport.open(host, port, timeoutMs, signal);
  const link = new HandshakeLink({ transport, clock, signal, tracer: untraced }, timeoutMs);
  const parts: Buffer[] = [];
  let framings: readonly Framing[] = [RMCP_PLUS, VERSION_1_5];
  try {
    for (let index = 0; index < MOST_PARTS; index++) {
      const { part, framing } = await readPart(link, index, framings, timeoutMs);
      received(part.length);
      framings = [framing];
      // A BMC that ignores the index would send its first part forever.
      if (part.length > 0 && parts.at(-1)?.equals(part))
        throw new BmcError("protocol", `${NAME} does not end`);
      parts.push(part);
      if (part.length < PART_BYTES) break;
    }
    return Buffer.concat(parts);
  } catch (thrown) {
    throw thrown instanceof TimeoutReached ? link.timedOut(thrown) : thrown;
  } finally {
    await transport.close();
  }
}

/** Alternates the framings: ipmitool uses the first one, and OpenIPMI's simulator answers only the other. */
async function readPart(link: HandshakeLink, index: number, framings: readonly Framing[], limitMs: number) {
  const command = ipmiCommand(NAME, NetFn.app, COMMAND, {
    data: Uint8Array.of(THIS_CHANNEL, PayloadType.ipmi, BY_SUITE | index),
  });
  const message = buildLanRequest({ ...command, sequence: index });
  let copies = 0;
  const send = () => {
    const framing = framings[copies++ % framings.length];
    if (framing) link.transport.send(framing.build(message));
  };
  const match = (datagram: Buffer) => {
    for (const framing of framings) {
      const payload = framing.parse(datagram);
      const answer = payload && parseLanResponse(payload);
      if (answer?.netFn === NetFn.app && answer.command === COMMAND && answer.sequence === index)
        return { answer, framing };
    }
    return undefined;
  };
  const { answer, framing } = await link.exchange(NAME, send, match, { limitMs, repeat: true });
  const { completionCode, data } = answer;
  if (completionCode !== COMPLETED) throw completionError(command, completionCode);
  // The channel's number comes first.
  if (data.length < 1) throw new BmcError("protocol", `${NAME}: the answer is malformed`);
  return { part: data.subarray(1), framing };
}
