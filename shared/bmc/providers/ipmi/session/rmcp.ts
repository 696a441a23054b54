/** RMCP version 1.0, no acknowledgement, class IPMI (IPMI 2.0 section 13.1.3). */
const RMCP_HEADER = Buffer.from([0x06, 0x00, 0xff, 0x07]);
/** The authentication type that means "RMCP+ session header follows" (section 13.6). */
const FORMAT_RMCP_PLUS = 0x06;
const HEADER_BYTES = 16;
const ENCRYPTED = 0x80;
const AUTHENTICATED = 0x40;

/** Payload types of an RMCP+ packet (IPMI 2.0 section 13.27.3). */
export const PayloadType = {
  ipmi: 0x00,
  sol: 0x01,
  openSessionRequest: 0x10,
  openSessionResponse: 0x11,
  rakp1: 0x12,
  rakp2: 0x13,
  rakp3: 0x14,
  rakp4: 0x15,
} as const;

/** The start of the part that an integrity check covers: after the RMCP header. */
export const SESSION_HEADER_OFFSET = RMCP_HEADER.length;

/** One RMCP+ packet. Its payload is unchanged. */
export interface RmcpPacket {
  readonly payloadType: number;
  readonly encrypted: boolean;
  readonly authenticated: boolean;
  readonly sessionId: number;
  readonly sequence: number;
  readonly payload: Buffer;
  /** The bytes after the payload: integrity pad, pad length, next header, check value. Empty outside sessions. */
  readonly trailer: Buffer;
}

export function buildRmcp(packet: Omit<RmcpPacket, "trailer">): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  RMCP_HEADER.copy(header);
  header[4] = FORMAT_RMCP_PLUS;
  header[5] =
    packet.payloadType | (packet.encrypted ? ENCRYPTED : 0) | (packet.authenticated ? AUTHENTICATED : 0);
  header.writeUInt32LE(packet.sessionId, 6);
  header.writeUInt32LE(packet.sequence, 10);
  header.writeUInt16LE(packet.payload.length, 14);
  return Buffer.concat([header, packet.payload]);
}

/** Builds an unencrypted packet outside sessions, for the handshake: session 0, sequence 0. */
export function buildHandshakePacket(payloadType: number, payload: Buffer): Buffer {
  return buildRmcp({
    payloadType,
    encrypted: false,
    authenticated: false,
    sessionId: 0,
    sequence: 0,
    payload,
  });
}

/** Parses a packet; undefined if the datagram is not an RMCP+ packet or is shorter than it says. */
export function parseRmcp(datagram: Buffer): RmcpPacket | undefined {
  if (datagram.length < HEADER_BYTES) return undefined;
  // The sequence byte (offset 2) is 0xFF in the specification. Some BMCs send other values, and nothing uses it.
  if (datagram[0] !== RMCP_HEADER[0] || datagram[3] !== RMCP_HEADER[3]) return undefined;
  if (datagram[4] !== FORMAT_RMCP_PLUS) return undefined;
  const flags = datagram.readUInt8(5);
  const end = HEADER_BYTES + datagram.readUInt16LE(14);
  if (datagram.length < end) return undefined;
  return {
    payloadType: flags & 0x3f,
    encrypted: (flags & ENCRYPTED) !== 0,
    authenticated: (flags & AUTHENTICATED) !== 0,
    sessionId: datagram.readUInt32LE(6),
    sequence: datagram.readUInt32LE(10),
    payload: datagram.subarray(HEADER_BYTES, end),
    trailer: datagram.subarray(end),
  };
}

/** The payload of a handshake answer of this type; undefined for anything else. */
export function parseHandshakePacket(datagram: Buffer, payloadType: number): Buffer | undefined {
  const packet = parseRmcp(datagram);
  if (packet?.payloadType !== payloadType) return undefined;
  if (packet.encrypted || packet.authenticated || packet.sessionId !== 0) return undefined;
  return packet.payload;
}
