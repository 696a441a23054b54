const HEADER_BYTES = 4;
const SEQUENCE = 0x0f;

/** Operation and status bits that the BMC sends (IPMI 2.0 table 15-2). */
const STATUS = {
  refused: 0x40,
  unavailable: 0x20,
  deactivated: 0x10,
  overrun: 0x08,
  break: 0x04,
} as const;

/** A packet of serial over LAN from the BMC (IPMI 2.0 section 15.9). */
export interface SolPacket {
  /** 1 to 15; 0 for a packet that needs no acknowledgement. */
  readonly sequence: number;
  /** The acknowledged packet, 1 to 15; 0 for none. */
  readonly acknowledged: number;
  /** How many characters of that packet the BMC accepted. */
  readonly accepted: number;
  /** The BMC refused the packet (NACK). */
  readonly refused: boolean;
  /** The BMC cannot transfer characters, for example because the machine is off. */
  readonly unavailable: boolean;
  /** The BMC has ended serial over LAN. */
  readonly deactivated: boolean;
  /** The BMC has dropped characters of the machine. */
  readonly overrun: boolean;
  /** The machine has sent a break. */
  readonly break: boolean;
  /** Characters of the machine. */
  readonly data: Buffer;
}

/** Parses a packet; undefined if the payload is shorter than a header. */
export function parseSolPacket(payload: Buffer): SolPacket | undefined {
  if (payload.length < HEADER_BYTES) return undefined;
  const status = payload.readUInt8(3);
  return {
    sequence: payload.readUInt8(0) & SEQUENCE,
    acknowledged: payload.readUInt8(1) & SEQUENCE,
    accepted: payload.readUInt8(2),
    refused: (status & STATUS.refused) !== 0,
    unavailable: (status & STATUS.unavailable) !== 0,
    deactivated: (status & STATUS.deactivated) !== 0,
    overrun: (status & STATUS.overrun) !== 0,
    break: (status & STATUS.break) !== 0,
    data: payload.subarray(HEADER_BYTES),
  };
}

/** Builds an acknowledgement without characters and bits, the only packet of a console that never writes. */
function acknowledgement(sequence: number, accepted: number): Buffer {
  return Buffer.of(0, sequence, accepted, 0);
}

interface Received {
  /** New characters. */
  readonly data: Buffer;
  /** The packet to send to the BMC. */
  readonly answer?: Buffer;
}

const NOTHING: Received = { data: Buffer.alloc(0) };

/** The one-byte field of accepted characters cannot acknowledge more. */
const MOST_ACCEPTED = 0xff;

/**
 * The receiving side of one activation. The BMC sends one packet at a time and repeats it with the same number until it is
 * acknowledged (IPMI 2.0 section 15.11). A copy may have new characters at its end.
 */
export class SolReassembly {
  /** Session sequence number of the latest packet with characters. */
  #latest = 0;
  #sequence = 0;
  /** The number of characters taken from packet `#sequence`. */
  #taken = 0;

  /** Takes a packet. `sessionSequence` is that of the RMCP+ packet, which differs for each copy. */
  take({ sequence, data }: SolPacket, sessionSequence: number): Received {
    if (sequence === 0) return NOTHING;
    // The BMC has continued since, so this delayed copy was acknowledged.
    if (sessionSequence < this.#latest) return NOTHING;
    this.#latest = sessionSequence;
    const accepted = data.subarray(0, MOST_ACCEPTED);
    const taken = sequence === this.#sequence ? this.#taken : 0;
    this.#sequence = sequence;
    this.#taken = Math.max(taken, accepted.length);
    return { data: accepted.subarray(taken), answer: acknowledgement(sequence, accepted.length) };
  }
}
