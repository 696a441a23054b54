import { z } from "zod";

const Line = z.looseObject({ level: z.union([z.string(), z.number()]), msg: z.string() });

/** Facts that only the workers' logs have. */
export interface WorkerLog {
  /** Unfinished actions that workers found when they started. */
  readonly unfinished: number;
  /** How many of the unfinished actions were not launched, so that the server serves them again. */
  readonly notLaunched: number;
  /** Unfinished actions that were lost and served again, as `workflow/action`. */
  readonly lostAndRunAgain: readonly string[];
  /** Unfinished actions that were lost and failed. */
  readonly lostAndFailed: readonly string[];
  /** Ended actions whose report the server could not receive, as `workflow/action`. */
  readonly pendingReports: readonly string[];
  /** How many of the unfinished actions had already ended and were reported. */
  readonly reported: number;
  /** Number of launches, and of launched actions. */
  readonly launches: number;
  readonly launched: number;
  /** Number of error lines, by message. */
  readonly errors: ReadonlyMap<string, number>;
  /** Lines that are no log, such as a crash. */
  readonly foreign: readonly string[];
}

const ERROR_LEVEL = 50;

export function readWorkerLogs(texts: readonly string[]): WorkerLog {
  let unfinished = 0;
  const counts = new Map<string, number>();
  const errors = new Map<string, number>();
  const launched = new Set<string>();
  const foreign: string[] = [];
  const lostAndRunAgain: string[] = [];
  const lostAndFailed: string[] = [];
  const pendingReports: string[] = [];
  for (const text of texts) {
    for (const line of text.split("\n").filter((each) => each !== "")) {
      const parsed = Line.safeParse(jsonOf(line));
      if (!parsed.success) {
        foreign.push(line);
        continue;
      }
      const { level, msg } = parsed.data;
      counts.set(msg, (counts.get(msg) ?? 0) + 1);
      if (level === "error" || level === ERROR_LEVEL) errors.set(msg, (errors.get(msg) ?? 0) + 1);
      if (msg === "worker started") unfinished += Number(parsed.data["unfinished"] ?? 0);
      const action = `${parsed.data["workflow"]}/${parsed.data["action"]}`.replace(/^default\//, "");
      if (msg === "action started") launched.add(action);
      if (msg === "report pending, lane continues") pendingReports.push(action);
      if (msg.startsWith("idempotent action of an earlier run lost")) lostAndRunAgain.push(action);
      if (msg.startsWith("non-idempotent action of an earlier run lost")) lostAndFailed.push(action);
    }
  }
  const count = (start: string) =>
    [...counts].reduce((sum, [msg, times]) => sum + (msg.startsWith(start) ? times : 0), 0);
  return {
    unfinished,
    notLaunched: count("action of an earlier run not launched"),
    lostAndRunAgain,
    lostAndFailed,
    pendingReports,
    reported: count("report of an earlier run pending"),
    launches: count("action started"),
    launched: launched.size,
    errors,
    foreign,
  };
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
