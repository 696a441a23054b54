/** The fields of a program that an image's build reads, by the System V ABI (chapters 4 and 5): 64 bits, little-endian. */
const LOAD = 1;
const DYNAMIC = 2;
const INTERPRETER = 3;
const NEEDED = 1;
const STRING_TABLE = 5;

interface Segment {
  readonly type: number;
  /** In the file. */
  readonly offset: number;
  readonly size: number;
  /** In memory. */
  readonly address: number;
}

/** The libraries that a program or library names, without what these need. */
export function neededLibraries(elf: Buffer): readonly string[] {
  const segments = segmentsOf(elf);
  const dynamic = segments.find(({ type }) => type === DYNAMIC);
  if (!dynamic) return [];
  const entries = Array.from({ length: dynamic.size / 16 }, (_, index) => ({
    tag: numberAt(elf, dynamic.offset + index * 16),
    value: numberAt(elf, dynamic.offset + index * 16 + 8),
  }));
  const table = entries.find(({ tag }) => tag === STRING_TABLE)?.value ?? 0;
  const within = segments.find(
    ({ type, address, size }) => type === LOAD && table >= address && table < address + size,
  );
  const strings = within ? table - within.address + within.offset : 0;
  return entries.filter(({ tag }) => tag === NEEDED).map(({ value }) => textAt(elf, strings + value));
}

/** The path of the loader. */
export function interpreterOf(elf: Buffer): string | undefined {
  const segment = segmentsOf(elf).find(({ type }) => type === INTERPRETER);
  return segment && textAt(elf, segment.offset);
}

/**
 * The program without what only debuggers read: symbols and the headers of sections follow the last segment. `strip` does the
 * same, but is in no image of Node, and knows one architecture.
 */
export function withoutSymbols(elf: Buffer): Buffer {
  const end = Math.max(...segmentsOf(elf).map(({ offset, size }) => offset + size));
  const stripped = Buffer.from(elf.subarray(0, end));
  // The offset, size, number and names' index of sections.
  stripped.writeBigUInt64LE(0n, 40);
  stripped.fill(0, 58, 64);
  return stripped;
}

function segmentsOf(elf: Buffer): readonly Segment[] {
  if (elf.readUInt32BE(0) !== 0x7f454c46 || elf[4] !== 2 || elf[5] !== 1) {
    throw new Error("not a 64-bit little-endian ELF program");
  }
  const [table, entrySize, count] = [numberAt(elf, 32), elf.readUInt16LE(54), elf.readUInt16LE(56)];
  return Array.from({ length: count }, (_, index) => {
    const entry = table + index * entrySize;
    return {
      type: elf.readUInt32LE(entry),
      offset: numberAt(elf, entry + 8),
      address: numberAt(elf, entry + 16),
      size: numberAt(elf, entry + 32),
    };
  });
}

function numberAt(elf: Buffer, offset: number): number {
  return Number(elf.readBigUInt64LE(offset));
}

function textAt(elf: Buffer, offset: number): string {
  return elf.toString("utf8", offset, elf.indexOf(0, offset));
}
