import { readFileSync, writeFileSync } from "node:fs";

/**
 * `strip-node.ts <program> <target>`: copies a program without what only debuggers read, as `strip` does, which is in no image
 * of Node and knows one architecture. Imports built-in modules only.
 */
const [program = "", target = ""] = process.argv.slice(2);
writeFileSync(target, withoutSymbols(readFileSync(program)), { mode: 0o755 });

/** ELF-64, little-endian (System V ABI, chapter 4): what follows the last segment is symbols and the sections' headers. */
function withoutSymbols(elf: Buffer): Buffer {
  if (elf.readUInt32BE(0) !== 0x7f454c46 || elf[4] !== 2 || elf[5] !== 1) {
    throw new Error("not a 64-bit little-endian ELF program");
  }
  const [tableOffset, entrySize, count] = [
    Number(elf.readBigUInt64LE(32)),
    elf.readUInt16LE(54),
    elf.readUInt16LE(56),
  ];
  let end = tableOffset + count * entrySize;
  for (let index = 0; index < count; index += 1) {
    const segment = tableOffset + index * entrySize;
    end = Math.max(end, Number(elf.readBigUInt64LE(segment + 8) + elf.readBigUInt64LE(segment + 32)));
  }
  const stripped = Buffer.from(elf.subarray(0, end));
  // The offset, size, number and names' index of section headers.
  stripped.writeBigUInt64LE(0n, 40);
  stripped.fill(0, 58, 64);
  return stripped;
}
