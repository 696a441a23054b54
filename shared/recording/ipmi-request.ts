/** Commands whose bytes hold neither names, addresses nor texts. */
const PLAIN =
  /^(Get|Set|Chassis|Reserve|Clear|Read|Cold|Warm|Activate|Deactivate)\b(?!.*(User|LAN|FRU(?! Inventory Area)|GUID|SDR(?!( Repository)? Info)|Session|Security|Password|Hostname|Asset|SEL Entry))/i;

const [SENSOR, STORAGE, TRANSPORT] = [0x04, 0x0a, 0x0c];
/** LAN parameters that are no addresses: the state of a change, and where the address comes from. */
const NO_ADDRESS = [0, 4];

interface Asked {
  /** Its name in the specification. */
  readonly command: string;
  readonly netFn: number | undefined;
  readonly code: number;
}

/** Whether the bytes of its answers may be written as they are. */
export function isPlain({ command }: Pick<Asked, "command">): boolean {
  return PLAIN.test(command);
}

/** Get SDR, Get Device SDR or Get SEL Entry: reservation, record ID, offset, and how many bytes. */
export function asksForRecord({ netFn, code }: Omit<Asked, "command">): boolean {
  return netFn === STORAGE ? code === 0x23 || code === 0x43 : netFn === SENSOR && code === 0x21;
}

/**
 * What a recording has of a request's bytes, by which a replay finds it again; undefined if nothing. Reservations differ each time. Of
 * LAN parameters, the value may be an address.
 */
export function keptBytes(asked: Asked, data: Uint8Array): Buffer | undefined {
  const bytes = Buffer.from(data);
  if (asksForRecord(asked)) return bytes.fill(0, 0, Math.min(2, bytes.length));
  if (asked.netFn === TRANSPORT && asked.code === 0x01)
    return NO_ADDRESS.includes(bytes[1] ?? 0) ? bytes : bytes.subarray(0, 2);
  return isPlain(asked) ? bytes : undefined;
}
