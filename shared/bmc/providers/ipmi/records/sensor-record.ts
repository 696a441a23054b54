import { decodeField } from "./fru.ts";
import { ANALOG_FORMATS, type AnalogFormat, type Factors, parseFactors } from "./sensor-conversion.ts";
import type { UnitBytes } from "./sensor-units.ts";

/** How a sensor's raw byte becomes a number. */
interface Analog {
  readonly format: AnalogFormat;
  readonly linearisation: number;
  readonly factors: Factors;
}

/** A sensor as its sensor data record describes it (IPMI 2.0 section 43). */
export interface SensorRecord {
  /** A slave address or software ID; bit 0 distinguishes them. */
  readonly owner: number;
  /** Bits 7:4 channel, 1:0 LUN. */
  readonly lun: number;
  readonly number: number;
  readonly name: string;
  readonly entityId: number;
  readonly entityInstance: number;
  readonly sensorType: number;
  readonly eventType: number;
  /** Absent if the record has none. */
  readonly units?: UnitBytes;
  /** Absent for sensors that only have states. */
  readonly analog?: Analog;
  /**
   * Absent without thresholds. `readable` has a bit per threshold; `raw` contains the values that the BMC sets when it
   * starts.
   */
  readonly thresholds?: { readonly readable: number; readonly raw: Buffer };
  /** Whether the sensor only sends events and cannot be read. */
  readonly eventOnly: boolean;
}

const FULL = 0x01;
const COMPACT = 0x02;
const EVENT_ONLY = 0x03;
const THRESHOLDS = 0x01;
/** The position of the name's type and length. */
const NAME_AT: Readonly<Record<number, number>> = { [FULL]: 47, [COMPACT]: 31, [EVENT_ONLY]: 16 };
const SHARING_AT: Readonly<Record<number, number>> = { [COMPACT]: 23, [EVENT_ONLY]: 12 };

/** The sensors of a record, several if they share it. None for other records, such as FRU locators, and for incomplete ones. */
export function parseSensorRecord(bytes: Buffer): readonly SensorRecord[] {
  if (bytes.length < 5) return [];
  const type = bytes.readUInt8(3);
  const nameAt = NAME_AT[type];
  if (nameAt === undefined || bytes.length <= nameAt) return [];
  const common = {
    owner: bytes.readUInt8(5),
    lun: bytes.readUInt8(6),
    number: bytes.readUInt8(7),
    name: nameIn(bytes, nameAt),
    entityId: bytes.readUInt8(8),
    entityInstance: bytes.readUInt8(9),
  };
  if (type === EVENT_ONLY) {
    const [sensorType, eventType] = [bytes.readUInt8(10), bytes.readUInt8(11)];
    return shared({ ...common, sensorType, eventType, eventOnly: true }, bytes, type);
  }
  const record: SensorRecord = {
    ...common,
    sensorType: bytes.readUInt8(12),
    eventType: bytes.readUInt8(13),
    units: { flags: bytes.readUInt8(20), base: bytes.readUInt8(21), modifier: bytes.readUInt8(22) },
    eventOnly: false,
  };
  return type === FULL ? [{ ...record, ...fullPart(bytes) }] : shared(record, bytes, type);
}

/** Whether these bytes contain the whole name of a sensor's record, which is its last relevant field. */
export function hasWholeName(bytes: Buffer): boolean {
  const nameAt = bytes.length > 3 ? NAME_AT[bytes.readUInt8(3)] : undefined;
  if (nameAt === undefined || bytes.length <= nameAt) return false;
  return bytes.length > nameAt + (bytes.readUInt8(nameAt) & 0x1f);
}

/** The fields that only a Full Sensor Record has (table 43-1). */
function fullPart(bytes: Buffer): Pick<SensorRecord, "analog" | "thresholds"> {
  const format = ANALOG_FORMATS[bytes.readUInt8(20) >> 6] ?? "none";
  if (format === "none") return {};
  const analog = {
    format,
    linearisation: bytes.readUInt8(23) & 0x7f,
    factors: parseFactors(bytes.subarray(24, 30)),
  };
  // Upper thresholds come first here, and lower ones in Get Sensor Thresholds.
  const raw = Buffer.from(bytes.subarray(36, 42)).reverse();
  const access = (bytes.readUInt8(11) >> 2) & 0x03;
  const readable = access === 0 ? 0 : bytes.readUInt8(18) & 0x3f;
  return bytes.readUInt8(13) === THRESHOLDS ? { analog, thresholds: { readable, raw } } : { analog };
}

/** The sensors of a shared record: consecutive sensors may share it, with a number or letter after the name (table 43-2). */
function shared(record: SensorRecord, bytes: Buffer, type: number): readonly SensorRecord[] {
  const at = SHARING_AT[type] ?? 0;
  const flags = bytes.readUInt8(at);
  const count = Math.max(1, flags & 0x0f);
  if (count === 1) return [record];
  const sharing = bytes.readUInt8(at + 1);
  const isAlpha = ((flags >> 4) & 0x03) === 1;
  return Array.from({ length: count }, (_, index) => ({
    ...record,
    number: (record.number + index) & 0xff,
    name: `${record.name}${suffix((sharing & 0x7f) + index, isAlpha)}`,
    entityInstance: record.entityInstance + ((sharing & 0x80) !== 0 ? index : 0),
  }));
}

function suffix(index: number, isAlpha: boolean): string {
  if (!isAlpha) return String(index);
  const letter = String.fromCharCode(0x41 + (index % 26));
  return index < 26 ? letter : `${suffix(Math.floor(index / 26) - 1, true)}${letter}`;
}

const LATIN = 25;
const UNICODE = 1;

/** Reads type and length (section 43.15). They are like in a FRU, but type 0 is Unicode and the length has five bits. */
function nameIn(bytes: Buffer, at: number): string {
  const type = bytes.readUInt8(at) >> 6;
  const text = bytes.subarray(at + 1, at + 1 + (bytes.readUInt8(at) & 0x1f));
  const name = type === 0 ? decodeField(3, text, UNICODE) : decodeField(type, text, LATIN);
  return name ?? `sensor 0x${bytes.readUInt8(7).toString(16).padStart(2, "0")}`;
}
