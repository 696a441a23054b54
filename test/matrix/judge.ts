import { isDeepStrictEqual } from "node:util";
import type { ActionResult } from "../../shared/contract/result.ts";
import type { Deed } from "./lab.ts";
import { differences, LOST_PASSWORD, type MachineState } from "./machine-state.ts";

export const VIOLATIONS = {
  "false-success": "ok is true, and the machine is not as asked",
  repeated: "something was done more often than asked",
  other: "something was done that was not asked",
  "wrong-changed": "changed says otherwise than the machine",
  "unsaid-changed": "changed is absent, and the machine has changed",
  "wrong-report": "before or after says otherwise than the machine",
  "lost-password": "a password of the BMC is in no file",
  hang: "it ends later than its limits allow",
  leak: "the output shows a password",
  "wrong-blame": "it calls the input wrong, which is right",
  crash: "it ends without a result, or with an error of its own",
} as const;
export type ViolationKind = keyof typeof VIOLATIONS;

export interface Violation {
  readonly kind: ViolationKind;
  readonly detail: string;
}

/** What a run said, and what the machine shows of it. */
export interface Judged {
  readonly result: ActionResult | undefined;
  readonly before: MachineState;
  readonly after: MachineState;
  readonly deeds: readonly Deed[];
  readonly durationMs: number;
  readonly leaks: readonly string[];
  readonly stuck: string | undefined;
}

/** A run of the action without a fault. */
export interface Reference extends Judged {
  readonly result: ActionResult;
}

export interface JudgedFault {
  /** Refused in so many words, and not done: a client knows that nothing has happened. */
  readonly isPlainRefusal: boolean;
  /** What the limits of the action allow it to take. */
  readonly limitMs: number;
  /** Whether the IDs in a report may be those of another time. */
  readonly hasMoved: boolean;
}

/** Characters of a state that a violation shows. */
const DETAIL = 120;
/** How long a machine has to shut down before it may be forced: the example's `SOFT_TIMEOUT`. */
const SOFT_MS = 60_000;

/** Deeds that leave no trace in the state, or another one than the last of them. */
const ALWAYS = /^(power|bmc reset)\b/;

/** Deeds that lead to the same as those of an action's own run. */
const EQUIVALENTS: readonly (readonly [asked: readonly string[], instead: readonly string[]])[] = [
  [["power off", "power on"], ["power cycle"]],
  [
    ["power off", "power on"],
    ["power soft-off", "power on"],
  ],
  [["power soft-off"], ["power soft-off", "power off"]],
  [["power soft-off"], ["power off"]],
  [["power reset"], ["power cycle"]],
];

/** Compares a run with its fault against the same without one; `others` are runs with providers that it may fall back to. */
export function judge(
  run: Judged,
  own: Reference,
  others: readonly Reference[],
  { isPlainRefusal, limitMs, hasMoved }: JudgedFault,
): readonly Violation[] {
  const found: Violation[] = [];
  const add = (kind: ViolationKind, detail: string) => void found.push({ kind, detail });
  const { result } = run;
  if (run.stuck !== undefined) add("hang", run.stuck);
  else if (!result) add("crash", "no result");
  else if (result.class === "internal") add("crash", result.message);
  else if (result.class === "usage") add("wrong-blame", result.message);
  if (run.durationMs > limitMs) add("hang", `${Math.round(run.durationMs / 1_000)} s`);
  for (const leak of run.leaks) add("leak", leak);
  if (JSON.stringify(run.after).includes(LOST_PASSWORD)) add("lost-password", "an account's password");

  const references = [own, ...others];
  const counts = countsOf(run.deeds);
  const asked = references.flatMap(({ deeds }) =>
    waysToDo([...countsOf(deeds)].flatMap(([key, count]) => Array<string>(count).fill(key))),
  );
  for (const [key, count] of counts) {
    const most = Math.max(0, ...asked.map((keys) => keys.filter((one) => one === key).length));
    if (most === 0) add("other", `${key} was done`);
    else if (count > most) add("repeated", `${key} was done or sent ${count} times`);
  }
  if (isForced(run.deeds)) add("other", "power off was done while the operating system was shutting down");
  if (!result) return found;

  const changedParts = differences(run.before, run.after);
  const isChanged = changedParts.length > 0 || counts.size > 0;
  if (result.ok) {
    const wrong = references.map((reference) => unfulfilled(run, reference, counts));
    const [fewest] = wrong.toSorted((one, other) => one.length - other.length);
    if (fewest && fewest.length > 0) add("false-success", fewest.join(", "));
    else {
      const fitting = references.filter((_, index) => wrong[index]?.length === 0);
      if (!hasMoved && !fitting.some(({ result: { after } }) => agrees(result.after, after))) {
        add("wrong-report", `after is ${JSON.stringify(result.after)}`);
      }
    }
  }
  if (!hasMoved && !references.some(({ result: { before } }) => agrees(result.before, before))) {
    add("wrong-report", `before is ${JSON.stringify(result.before)}`);
  }
  if (isChanged && result.changed !== true) {
    const what = [...changedParts, ...counts.keys()].join(", ");
    if (result.changed === false) add("wrong-changed", `changed is false, and ${what} changed`);
    else add("unsaid-changed", `${what} changed`);
  }
  if (!isChanged && result.changed === true && (result.ok || isPlainRefusal)) {
    add("wrong-changed", "changed is true, and nothing has changed");
  }
  return found;
}

/** Whether what was told is so. What was not read may be absent or unknown. */
function agrees(told: unknown, real: unknown): boolean {
  if (told === undefined || told === "unknown") return true;
  if (Array.isArray(told) && Array.isArray(real)) {
    return told.length === real.length && told.every((item, index) => agrees(item, real[index]));
  }
  if (!isFields(told) || !isFields(real)) return isDeepStrictEqual(told, real);
  return Object.entries(told).every(([name, value]) => name === "unread" || agrees(value, real[name]));
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** How often each deed was done, with what was sent again after it had been done. */
function countsOf(deeds: readonly Deed[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { key, isDone } of deeds) {
    const count = counts.get(key) ?? 0;
    if (isDone || count > 0) counts.set(key, count + 1);
  }
  return counts;
}

function waysToDo(keys: readonly string[]): readonly (readonly string[])[] {
  const instead = EQUIVALENTS.filter(([asked]) => asked.every((key) => keys.includes(key))).map(
    ([asked, others]) => [...keys.filter((key) => !asked.includes(key)), ...others],
  );
  return [keys, ...instead];
}

/** What of a reference is missing on the machine. */
function unfulfilled(
  run: Judged,
  reference: Reference,
  counts: ReadonlyMap<string, number>,
): readonly string[] {
  const parts = differences(run.after, reference.after);
  // Where the state shows what was done, it does not matter how.
  const isShown = differences(reference.before, reference.after).length > 0;
  const keys = [...countsOf(reference.deeds).keys()].filter((key) => !isShown || ALWAYS.test(key));
  const missing = waysToDo(keys).map((way) => way.filter((key) => !counts.has(key)));
  const [fewest = []] = missing.toSorted((one, other) => one.length - other.length);
  const differing = parts.map((part) => {
    const [is, asked] = [run, reference].map(({ after }) => JSON.stringify(after[part]) ?? "absent");
    return `${part} is ${differingPart(is, asked)}`;
  });
  return [...differing, ...fewest.map((key) => `${key} was not done`)];
}

/** Two texts from where they begin to differ. */
function differingPart(is = "", asked = ""): string {
  const from = Math.max(0, [...is].findIndex((character, index) => character !== asked[index]) - 20);
  const part = (text: string) => text.slice(from, from + DETAIL);
  return `${part(is)} in place of ${part(asked)}`;
}

function isForced(deeds: readonly Deed[]): boolean {
  const soft = deeds.find(({ key, isDone }) => key === "power soft-off" && isDone);
  return (
    soft !== undefined &&
    deeds.some(
      ({ key, isDone, atMs }) =>
        key === "power off" && isDone && atMs > soft.atMs && atMs < soft.atMs + SOFT_MS,
    )
  );
}
