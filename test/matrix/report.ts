import { formatTable } from "../../shared/table.ts";
import { nameOf, type Row } from "./cells.ts";
import { EXCEPTIONS, exceptionFor } from "./exceptions.ts";
import { VIOLATIONS, type ViolationKind } from "./judge.ts";
import type { CellReport } from "./thread.ts";

const KINDS = Object.keys(VIOLATIONS) as ViolationKind[];

interface Tally {
  runs: number;
  readonly violations: Map<ViolationKind, number>;
  slowestMs: number;
}

/** Counts runs and what is wrong with them. */
export class MatrixReport {
  readonly #rows: readonly Row[];
  readonly #ofAll: number;
  readonly #byAction = new Map<string, Tally>();
  readonly #byFault = new Map<string, Tally>();
  readonly #all: Tally = emptyTally();
  #violations = 0;
  readonly #used = new Set<unknown>();

  constructor(rows: readonly Row[], ofAll: number) {
    this.#rows = rows;
    this.#ofAll = ofAll;
  }

  /** Counts a run; one line for each violation. */
  add(done: CellReport): readonly string[] {
    const { cell, hit, violations, durationMs, ok, message } = done;
    const wrong = violations.filter(({ kind }) => {
      const exception = exceptionFor(done, kind);
      this.#used.add(exception);
      return !exception;
    });
    const tallies = [
      this.#all,
      tallyOf(this.#byAction, `${cell.action}/${cell.way}`),
      tallyOf(this.#byFault, cell.fault.name),
    ];
    for (const tally of tallies) {
      tally.runs += 1;
      tally.slowestMs = Math.max(tally.slowestMs, durationMs);
      for (const kind of new Set(wrong.map(({ kind }) => kind))) {
        tally.violations.set(kind, (tally.violations.get(kind) ?? 0) + 1);
      }
    }
    this.#violations += wrong.length;
    const again = `npm run matrix -- --only ${nameOf(cell)}`;
    return wrong.map(
      ({ kind, detail }) =>
        `WRONG ${kind}: ${detail} (${hit ?? "no request"}); it said ok=${ok}: ${message}; again: ${again}`,
    );
  }

  /** Whether nothing is wrong, and every action has its rows. */
  get isRight(): boolean {
    return this.#violations === 0 && this.#problems().length === 0;
  }

  text(): string {
    const head = ["runs", ...KINDS, "slowest"];
    const columns = head.map((_, index) => index + 1);
    const row = (name: string, { runs, violations, slowestMs }: Tally) => [
      ...[name, String(runs)],
      ...KINDS.map((kind) => String(violations.get(kind) ?? "-")),
      `${Math.round(slowestMs / 1_000)} s`,
    ];
    const table = (title: string, tallies: ReadonlyMap<string, Tally>) =>
      formatTable(
        [title, ...head],
        [...tallies].toSorted().map(([name, tally]) => row(name, tally)),
        columns,
      );
    const kinds = KINDS.map(
      (kind) => `${kind}: ${this.#all.violations.get(kind) ?? 0} (${VIOLATIONS[kind]})`,
    );
    return [
      ...[table("action", this.#byAction), "", table("fault", this.#byFault), ""],
      `${this.#all.runs} of ${this.#ofAll} runs`,
      ...[...kinds, ""],
      ...this.#problems(),
      this.isRight ? "nothing is wrong" : "",
      "",
    ].join("\n");
  }

  #problems(): readonly string[] {
    const rows = this.#rows
      .filter(({ problem }) => problem !== undefined)
      .map(({ action, way, problem }) => `WRONG ${action}/${way} fails without a fault: ${problem}`);
    const actions = new Set(this.#rows.map(({ action }) => action));
    const empty = [...actions]
      .filter((name) => this.#rows.every(({ action, faults }) => action !== name || faults.length === 0))
      .map((name) => `WRONG ${name} has no run: its example changes nothing by any way`);
    const isWhole = this.#all.runs === this.#ofAll && actions.size > 1;
    const stale = EXCEPTIONS.filter((exception) => isWhole && !this.#used.has(exception)).map(
      ({ reason }) => `WRONG this exception is not needed: ${reason}`,
    );
    return [...rows, ...empty, ...stale];
  }
}

const emptyTally = (): Tally => ({ runs: 0, violations: new Map(), slowestMs: 0 });

function tallyOf(tallies: Map<string, Tally>, name: string): Tally {
  const tally = tallies.get(name) ?? emptyTally();
  tallies.set(name, tally);
  return tally;
}
