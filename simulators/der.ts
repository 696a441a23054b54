/** The DER encodings (ITU-T X.690) that an X.509 certificate needs. */

function element(tag: number, ...contents: Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), length(body.length), body]);
}

function length(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.from([bytes]);
  const digits = bytes < 0x100 ? [bytes] : [bytes >> 8, bytes & 0xff];
  return Buffer.from([0x80 | digits.length, ...digits]);
}

export const sequence = (...items: Uint8Array[]) => element(0x30, ...items);
export const set = (...items: Uint8Array[]) => element(0x31, ...items);
export const octetString = (content: Uint8Array) => element(0x04, content);
export const utf8String = (text: string) => element(0x0c, Buffer.from(text));
export const boolean = (value: boolean) => element(0x01, Buffer.from([value ? 0xff : 0]));

/** Encodes an unsigned integer. A leading zero byte prevents it from being read as negative. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes[0] ?? 0;
  return first < 0x80 ? element(0x02, bytes) : element(0x02, Buffer.from([0]), bytes);
}

export const bitString = (content: Uint8Array, unusedBits = 0) =>
  element(0x03, Buffer.from([unusedBits]), content);

/** Encodes a context-specific tag: constructed (wraps elements) or primitive (replaces the tag of a value). */
export const context = (tag: number, content: Uint8Array) => element(0xa0 | tag, content);
export const contextPrimitive = (tag: number, content: Uint8Array) => element(0x80 | tag, content);

/** Encodes a UTC time in seconds, for dates before 2050 as RFC 5280 section 4.1.2.5 requires. */
export function utcTime(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]/g, "").slice(2, 14);
  return element(0x17, Buffer.from(`${digits}Z`));
}

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const digits = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
    bytes.push(...digits);
  }
  return element(0x06, Buffer.from(bytes));
}
