import { BmcError } from "../../../../contract/bmc-error.ts";
import { RECORD_BYTES } from "./sel-commands.ts";

/** Timestamps up to this one count from the BMC's start instead of 1970 (IPMI 2.0 section 37). */
const LAST_BEFORE_INITIALISATION = 0x2000_0000;
const UNSPECIFIED = 0xffff_ffff;

/** The meaning of the four bytes of a timestamp. */
export type SelTime =
  | { readonly kind: "since-epoch"; readonly ms: number }
  /** The BMC did not know the time yet. */
  | { readonly kind: "since-start"; readonly seconds: number }
  | { readonly kind: "unspecified" };

/** Reads a timestamp. `seconds` is the unsigned 32-bit number as sent by the BMC. */
export function selTime(seconds: number): SelTime {
  if (seconds === UNSPECIFIED) return { kind: "unspecified" };
  if (seconds <= LAST_BEFORE_INITIALISATION) return { kind: "since-start", seconds };
  return { kind: "since-epoch", ms: seconds * 1_000 };
}

/** A sensor's event: the generator's event of IPMI 2.0 table 32-1. */
export interface SystemEvent {
  readonly kind: "system";
  readonly id: number;
  readonly time: SelTime;
  /** The slave address or software ID, and channel and LUN. */
  readonly generator: number;
  readonly sensorType: number;
  readonly sensor: number;
  /** False if the condition has ended. */
  readonly asserted: boolean;
  /** 0x01 threshold, 0x02 to 0x0c generic, 0x6f sensor-specific, 0x70 to 0x7f defined by the vendor. */
  readonly eventType: number;
  readonly data: readonly [number, number, number];
}

/** A record in the vendor's own format, with (table 32-2) or without (32-3) a timestamp. */
export interface OemRecord {
  readonly kind: "oem";
  readonly id: number;
  readonly type: number;
  readonly time: SelTime;
  /** The IANA enterprise number; absent from records without a timestamp. */
  readonly manufacturer?: number;
  readonly data: Buffer;
}

export type SelRecord = SystemEvent | OemRecord;

const FIRST_OEM_TYPE = 0xc0;
const FIRST_OEM_TYPE_WITHOUT_TIME = 0xe0;
const ASSERTED = 0x00;

/**
 * Parses the 16 bytes of a record. Types below 0xC0 other than 0x02 are reserved; BMCs that use them fill them like system
 * events. Throws `protocol` for fewer bytes.
 */
export function parseSelRecord(bytes: Buffer): SelRecord {
  if (bytes.length < RECORD_BYTES) {
    throw new BmcError("protocol", `an event log record of ${bytes.length} bytes instead of ${RECORD_BYTES}`);
  }
  const id = bytes.readUInt16LE(0);
  const type = bytes.readUInt8(2);
  if (type >= FIRST_OEM_TYPE_WITHOUT_TIME) {
    return { kind: "oem", id, type, time: { kind: "unspecified" }, data: bytes.subarray(3, RECORD_BYTES) };
  }
  const time = selTime(bytes.readUInt32LE(3));
  if (type >= FIRST_OEM_TYPE) {
    const manufacturer = bytes.readUIntLE(7, 3);
    return { kind: "oem", id, type, time, manufacturer, data: bytes.subarray(10, RECORD_BYTES) };
  }
  const direction = bytes.readUInt8(12);
  return {
    kind: "system",
    id,
    time,
    generator: bytes.readUInt16LE(7),
    sensorType: bytes.readUInt8(10),
    sensor: bytes.readUInt8(11),
    asserted: direction >> 7 === ASSERTED,
    eventType: direction & 0x7f,
    data: [bytes.readUInt8(13), bytes.readUInt8(14), bytes.readUInt8(15)],
  };
}
