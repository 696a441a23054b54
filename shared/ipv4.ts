/** An IPv4 address as a number; undefined if the text is none. Leading zeros, which some programs read as octal, are refused. */
export function ipv4Number(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)) {
    return undefined;
  }
  return parts.reduce((number, part) => number * 256 + Number(part), 0);
}

function ipv4Text(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff).join(".");
}

/** The mask of a prefix length of 0 to 32. */
export function ipv4Mask(prefix: number): string {
  return ipv4Text(prefix === 0 ? 0 : (0xffffffff << (32 - prefix)) >>> 0);
}

/** The prefix length of a mask; undefined if its ones are not all in front. */
export function ipv4Prefix(mask: string): number | undefined {
  const number = ipv4Number(mask);
  if (number === undefined) return undefined;
  const prefix = number === 0 ? 0 : Math.clz32(~number >>> 0);
  return ipv4Mask(prefix) === mask ? prefix : undefined;
}

/** The first and the last address of a subnet, which no host may have. */
export function ipv4Subnet(
  address: number,
  prefix: number,
): { readonly first: number; readonly last: number } {
  const size = 2 ** (32 - prefix);
  const first = Math.floor(address / size) * size;
  return { first, last: first + size - 1 };
}
