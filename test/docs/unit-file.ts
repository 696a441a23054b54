/** One line of a systemd unit: `[Service] User=pbnj-worker`. */
export interface UnitLine {
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/** The lines of a unit, without comments; a backslash continues a line. */
export function unitLines(text: string): readonly UnitLine[] {
  let section = "";
  return text
    .replaceAll("\\\n", " ")
    .split("\n")
    .flatMap((line) => {
      const [, header] = /^\[(\w+)\]$/.exec(line.trim()) ?? [];
      if (header !== undefined) section = header;
      const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
      return key === undefined || value === undefined ? [] : [{ section, key, value: value.trim() }];
    });
}

/** All values that a key is given, in order. */
export function valuesOf(lines: readonly UnitLine[], key: string): readonly string[] {
  return lines.filter((line) => line.key === key).map(({ value }) => value);
}

/** A span of time as systemd writes it, such as `6min` or `5s`, in milliseconds. */
export function timeSpanMs(text: string): number {
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, "": 1_000 };
  const [, number, unit = ""] = /^(\d+)\s*(ms|s|min|h)?$/.exec(text) ?? [];
  const factor = units[unit];
  if (number === undefined || factor === undefined) throw new Error(`${text} is no span of time known here`);
  return Number(number) * factor;
}
