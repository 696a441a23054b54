export interface Result {
  readonly name: string;
  readonly verdict: "held" | "NOT HELD" | "skipped";
  /** Why it did not hold. */
  readonly reasons: readonly string[];
  readonly tookMs: number;
}

const LONGEST_REASON = 160;

/** One line per attack, and the counts. */
export function table(results: readonly Result[]): string {
  const width = Math.max(...results.map(({ name }) => name.length), 0);
  const lines = results.map(({ name, verdict, reasons, tookMs }) => {
    const seconds = `${(tookMs / 1_000).toFixed(1)} s`.padStart(7);
    const why = oneLine(reasons.join("; "));
    return `${name.padEnd(width)}  ${verdict.padEnd(8)}  ${seconds}${why === "" ? "" : `  ${why}`}`;
  });
  const count = (wanted: Result["verdict"]) => results.filter(({ verdict }) => verdict === wanted).length;
  const skipped = count("skipped") === 0 ? "" : `, ${count("skipped")} skipped`;
  return `${lines.join("\n")}\n${count("held")} held, ${count("NOT HELD")} not held${skipped}\n`;
}

export function oneLine(text: string): string {
  const line = text.replace(/\p{C}+/gu, " ");
  return line.length <= LONGEST_REASON ? line : `${line.slice(0, LONGEST_REASON - 1)}…`;
}
