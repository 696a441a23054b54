/** The format of a raw byte (IPMI 2.0 table 43-1, bits 7:6 of byte 21); `none` means that there is no analog reading. */
export type AnalogFormat = "unsigned" | "ones-complement" | "twos-complement" | "none";

export const ANALOG_FORMATS: readonly AnalogFormat[] = [
  "unsigned",
  "ones-complement",
  "twos-complement",
  "none",
];

/** Factors of the formula y = L[(M x + B 10^bExponent) 10^rExponent] (section 36.3). */
export interface Factors {
  /** 10 bits, signed. */
  readonly m: number;
  /** 10 bits, signed. */
  readonly b: number;
  /** 4 bits, signed. */
  readonly bExponent: number;
  /** 4 bits, signed. */
  readonly rExponent: number;
}

/** Linearisation functions by code, 0 to 11 (table 43-1, byte 24). */
const LINEARISATIONS: readonly ((y: number) => number)[] = [
  (y) => y,
  Math.log,
  Math.log10,
  Math.log2,
  Math.exp,
  (y) => 10 ** y,
  (y) => 2 ** y,
  (y) => 1 / y,
  (y) => y ** 2,
  (y) => y ** 3,
  Math.sqrt,
  Math.cbrt,
];

const FIRST_NON_LINEAR = 0x70;

/** Whether the factors depend on the reading and come from the BMC; the formula is then linear. */
export function isNonLinear(linearisation: number): boolean {
  return linearisation >= FIRST_NON_LINEAR && linearisation <= 0x7f;
}

/** Parses the six bytes from the low byte of M on, in a Full Sensor Record and in Get Sensor Reading Factors. */
export function parseFactors(bytes: Buffer): Factors {
  const exponents = bytes.readUInt8(5);
  return {
    m: signed(bytes.readUInt8(0) | ((bytes.readUInt8(1) & 0xc0) << 2), 10),
    b: signed(bytes.readUInt8(2) | ((bytes.readUInt8(3) & 0xc0) << 2), 10),
    bExponent: signed(exponents & 0x0f, 4),
    rExponent: signed(exponents >> 4, 4),
  };
}

/** Converts a raw byte to the sensor's unit; undefined if the format or the formula gives no number. */
export function convertReading(
  raw: number,
  format: AnalogFormat,
  linearisation: number,
  { m, b, bExponent, rExponent }: Factors,
): number | undefined {
  const x = rawNumber(raw, format);
  const linearise = isNonLinear(linearisation) ? LINEARISATIONS[0] : LINEARISATIONS[linearisation];
  if (x === undefined || !linearise) return undefined;
  const y = linearise((m * x + b * 10 ** bExponent) * 10 ** rExponent);
  // A byte has at most three digits; further digits are noise of the floating point.
  return Number.isFinite(y) ? Number(y.toPrecision(7)) : undefined;
}

function rawNumber(raw: number, format: AnalogFormat): number | undefined {
  switch (format) {
    case "unsigned":
      return raw;
    case "ones-complement":
      return raw < 0x80 ? raw : raw - 0xff;
    case "twos-complement":
      return signed(raw, 8);
    case "none":
      return undefined;
    default:
      return format satisfies never;
  }
}

function signed(value: number, bits: number): number {
  return value < 2 ** (bits - 1) ? value : value - 2 ** bits;
}
