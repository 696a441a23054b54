const GIB = 1024 ** 3;
const GB = 1_000 ** 3;
const TB = 1_000 ** 4;

/** Memory is sized in powers of two: `32 GiB`. Undefined if the size is unknown. */
export function gibibytes(bytes: number | undefined): string | undefined {
  return bytes === undefined ? undefined : `${rounded(bytes / GIB)} GiB`;
}

/** Disks come in powers of ten: `960.2 GB`, `7.7 TB`. Undefined where nothing is known. */
export function gigabytes(bytes: number | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  return bytes < TB ? `${rounded(bytes / GB)} GB` : `${rounded(bytes / TB)} TB`;
}

function rounded(value: number): string {
  return String(Math.round(value * 10) / 10);
}
