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
  /** 1 to 15; 0 for a packet that is not acknowledged. */
  readonly sequence: number;
  /** The packet that it acknowledges, 1 to 15; 0 for none. */
  readonly acknowledged: number;
  /** How many characters of that one the BMC took. */
  readonly accepted: number;
  /** The BMC did not take it (NACK). */
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

/** Undefined when the payload is shorter than a header. */
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

/** The only packet that a console sends which never writes: an acknowledgement, without characters and bits. */
function acknowledgement(sequence: number, accepted: number): Buffer {
  return Buffer.of(0, sequence, accepted, 0);
}

interface Received {
  /** Characters that have not come before. */
  readonly data: Buffer;
  /** To send to the BMC. */
  readonly answer?: Buffer;
}

const NOTHING: Received = { data: Buffer.alloc(0) };

/** The one-byte field for the accepted characters cannot acknowledge more. */
const MOST_ACCEPTED = 0xff;

/**
 * The receiving side of one activation. The BMC sends one packet at a time and repeats it under the same number until it is
 * acknowledged (IPMI 2.0 section 15.11); a copy may have new characters at its end.
 */
export class SolReassembly {
  /** Session sequence number of the latest packet with characters. */
  #latest = 0;
  #sequence = 0;
  /** Characters taken of packet `#sequence`. */
  #taken = 0;

  /** `sessionSequence`: of the RMCP+ packet, which is another one for each copy. */
  take({ sequence, data }: SolPacket, sessionSequence: number): Received {
    if (sequence === 0) return NOTHING;
    // The BMC has moved on since, so this copy was acknowledged: the line has delayed it.
    if (sessionSequence < this.#latest) return NOTHING;
    this.#latest = sessionSequence;
    const accepted = data.subarray(0, MOST_ACCEPTED);
    const taken = sequence === this.#sequence ? this.#taken : 0;
    this.#sequence = sequence;
    this.#taken = Math.max(taken, accepted.length);
    return { data: accepted.subarray(taken), answer: acknowledgement(sequence, accepted.length) };
  }
}
