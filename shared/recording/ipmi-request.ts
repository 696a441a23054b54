const NET_FN = {
  chassis: 0x00,
  sensor: 0x04,
  app: 0x06,
  storage: 0x0a,
  transport: 0x0c,
  dcmi: 0x2c,
} as const;

/**
 * Commands with answers that consist of states, times and measured numbers, by NetFn and code, with the length of the answer
 * in the specification.
 */
const PLAIN: Readonly<Record<number, Readonly<Record<number, number>>>> = {
  [NET_FN.chassis]: { 1: 4, 2: 0, 4: 0, 6: 1, 7: 2, 8: 0, 9: 7 },
  [NET_FN.sensor]: { 32: 6, 34: 2, 35: 7, 39: 7, 45: 4 },
  [NET_FN.app]: { 1: 15, 2: 0, 3: 0, 66: 9, 72: 12, 73: 0, 74: 3, 75: 12, 84: 17 },
  [NET_FN.storage]: { 16: 3, 32: 14, 34: 2, 64: 14, 66: 2, 71: 1, 72: 4 },
  [NET_FN.dcmi]: { 2: 18, 3: 14, 4: 1, 5: 1 },
};

/** The number of bytes of the longest of these requests. */
const LONGEST_REQUEST = 16;
/** LAN parameters that are not addresses: the state of a change, and the source of the address. */
const NO_ADDRESS = [0, 4];

interface Asked {
  readonly netFn: number | undefined;
  readonly code: number;
}

/** Returns the bytes of an answer that a recording keeps, or undefined if none. Records are handled elsewhere. */
export function keptAnswer(asked: Asked, answer: Uint8Array): Uint8Array | undefined {
  const most = mostBytes(asked);
  return most === undefined ? undefined : answer.subarray(0, most);
}

/** Whether the command is Get SDR, Get Device SDR or Get SEL Entry, with reservation, record ID, offset and number of bytes. */
export function asksForRecord({ netFn, code }: Asked): boolean {
  return netFn === NET_FN.storage ? code === 0x23 || code === 0x43 : netFn === NET_FN.sensor && code === 0x21;
}

/**
 * Returns the bytes of a request that a recording keeps, by which a replay recognizes it, or undefined if none. Reservations
 * differ each time, and the value of a LAN parameter may be an address.
 */
export function keptBytes(asked: Asked, data: Uint8Array): Buffer | undefined {
  const bytes = Buffer.from(data);
  if (asksForRecord(asked)) return bytes.fill(0, 0, Math.min(2, bytes.length));
  if (asked.netFn === NET_FN.transport && asked.code === 0x01)
    return NO_ADDRESS.includes(bytes[1] ?? 0) ? bytes : bytes.subarray(0, 2);
  return mostBytes(asked) !== undefined ? bytes.subarray(0, LONGEST_REQUEST) : undefined;
}

function mostBytes({ netFn, code }: Asked): number | undefined {
  return netFn === undefined ? undefined : PLAIN[netFn]?.[code];
}
