import "./install-virtual-time.ts";
import { parentPort } from "node:worker_threads";
import { parseDurationMs } from "../../shared/duration.ts";
import { textOf } from "../../shared/text-of.ts";
import { findSubjects } from "../actions/subject.ts";
import type { Cell, Row } from "./cells.ts";
import { PLAIN_REFUSAL } from "./http-faults.ts";
import { judge, type Reference, type Violation } from "./judge.ts";
import { type Outcome, runCell, TIMEOUT_MS } from "./run-cell.ts";
import { type MatrixSubject, withVariants } from "./variants.ts";
import { type Pace, passTimeUntil } from "./virtual-time.ts";
import { WAYS, type Way } from "./ways.ts";

/** Runs cells one after the other, because its clock is that of the whole thread. */

export type Task =
  | { readonly kind: "rows"; readonly action: string }
  | { readonly kind: "cell"; readonly cell: Cell; readonly log: boolean };

export interface CellReport {
  readonly cell: Cell;
  readonly hit: string | undefined;
  readonly violations: readonly Violation[];
  readonly ok: boolean;
  readonly message: string;
  readonly durationMs: number;
  readonly log: string;
}

export type Report =
  | { readonly actions: readonly string[] }
  | { readonly rows: readonly Row[] }
  | { readonly report: CellReport };

/** They change nothing, although a dry run of them is different. */
const CHANGE_NOTHING: readonly string[] = ["screenshot", "watch-console"];
/** What an action may take beside limits of its own, and without any: a task is followed for two minutes. */
const GRACE_MS = 30_000;
const PATIENCE_MS = 150_000;

const subjects = new Map<string, MatrixSubject>();
const references = new Map<string, Promise<Outcome>>();

function referenceOf(subject: MatrixSubject, way: Way, pace: Pace = "fast"): Promise<Outcome> {
  const key = `${subject.title}/${way}/${pace}`;
  const known = references.get(key) ?? runCell(subject, way, undefined, { pace });
  references.set(key, known);
  return known;
}

function subjectOf(action: string): MatrixSubject {
  const subject = subjects.get(action);
  if (!subject) throw new Error(`there is no action ${action}`);
  return subject;
}

async function rowsOf(action: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const way of WAYS) {
    const first = await referenceOf(subjectOf(action), way);
    const isClear = first.result?.ok || first.result?.class === "unsupported";
    const outcome = isClear ? first : await referenceOf(subjectOf(action), way, "unhurried");
    const { result, faults, stuck } = outcome;
    const isLeftOut = result?.class === "unsupported" || (result?.ok === true && result.changed === false);
    const problem = isLeftOut || result?.ok ? undefined : (stuck ?? result?.message ?? "no result");
    // By that way it does what Redfish alone does.
    const hasOne =
      way !== "ipmi-behind" || (await referenceOf(subjectOf(action), "ipmi")).result?.ok === true;
    rows.push({
      action,
      way,
      isLeftOut: isLeftOut || !hasOne,
      problem,
      faults: isLeftOut || problem !== undefined || !hasOne ? [] : faults,
    });
  }
  return rows;
}

async function runAndJudge(cell: Cell, log: boolean): Promise<CellReport> {
  const first = await runAndJudgeOnce(cell, log, "fast");
  // The clock must not have been ahead of a packet: what is wrong is wrong at any pace.
  return first.violations.length === 0 ? first : runAndJudgeOnce(cell, log, "unhurried");
}

async function runAndJudgeOnce(cell: Cell, log: boolean, pace: Pace): Promise<CellReport> {
  const subject = subjectOf(cell.action);
  const own = await referenceOf(subject, cell.way, pace);
  const others = cell.way === "ipmi-behind" ? [await referenceOf(subject, "ipmi", pace)] : [];
  const run = await runCell(subject, cell.way, cell.fault, { level: log ? "debug" : "error", pace });
  const judged = {
    isPlainRefusal: cell.fault.name === PLAIN_REFUSAL,
    limitMs: own.durationMs + limitOf(subject),
    hasMoved: cell.way === "moved",
  };
  return {
    cell,
    hit: run.hit,
    violations: judge(run, asReference(own), others.map(asReference), judged),
    ok: run.result?.ok ?? false,
    message: run.result?.message ?? "",
    durationMs: run.durationMs,
    log: log ? run.log : "",
  };
}

function asReference(outcome: Outcome): Reference {
  const { result } = outcome;
  if (!result) throw new Error("a reference has no result");
  return { ...outcome, result };
}

/** The sum of the action's own limits, twice because a cycle waits for off and for on, within its timeout. */
function limitOf({ action, reference, variables }: MatrixSubject): number {
  const limits = Object.values(action.input)
    .filter(({ type }) => type === "duration")
    .map(
      ({ env, default: preset }) =>
        parseDurationMs(variables[env] ?? reference.environment[env] ?? preset ?? "") ?? 0,
    );
  const own = limits.length === 0 ? PATIENCE_MS : GRACE_MS + 2 * limits.reduce((sum, ms) => sum + ms, 0);
  return Math.min(own, TIMEOUT_MS + GRACE_MS);
}

async function take(task: Task): Promise<Report> {
  if (task.kind === "rows") return { rows: await rowsOf(task.action) };
  return { report: await runAndJudge(task.cell, task.log) };
}

for (const subject of await passTimeUntil(findSubjects())) {
  if (subject.reference.readsOnly || CHANGE_NOTHING.includes(subject.name)) continue;
  for (const variant of withVariants(subject)) subjects.set(variant.title, variant);
}
parentPort?.on("message", (task: Task) => {
  take(task).then(
    (report) => parentPort?.postMessage(report),
    // Seen by the main thread as the end of this one.
    (thrown: unknown) =>
      process.nextTick(() => {
        throw thrown instanceof Error ? thrown : new Error(textOf(thrown));
      }),
  );
});
parentPort?.postMessage({ actions: [...subjects.keys()] } satisfies Report);
