import { formatTable } from "../../shared/table.ts";
import type { ChaosOptions } from "./options.ts";
import type { ActionRecord } from "./records.ts";
import type { ChaosResult } from "./run-chaos.ts";

/** how a run went, as a table of figures and what is wrong. */
export function chaosReport(options: ChaosOptions, result: ChaosResult): string {
  const rows = [...figures(options, result)];
  const table = formatTable(["chaos", "figure", ""], rows, [1]);
  const wrong = result.findings.map(({ rule, text }) => `WRONG ${rule}: ${text}`);
  return [table, "", ...(wrong.length === 0 ? ["nothing is wrong"] : wrong)].join("\n");
}

function* figures(options: ChaosOptions, result: ChaosResult): Generator<readonly string[]> {
  const { records, log } = result;
  const { workflows, actions } = records;
  const minutes = (options.durationMs / 60_000).toFixed(1);
  yield ["seed", String(options.seed), `${options.machines} machines, ${options.runtimes.join(", ")}`];
  yield ["minutes with faults", minutes, `${(result.tookMs / 60_000).toFixed(1)} in all`];
  for (const [state, of] of byCount(workflows, ({ state }) => state)) {
    yield [`workflows ${state}`, String(of.length), ""];
  }
  const forgotten = new Set(actions.filter(({ forgottenAt }) => forgottenAt).map(({ workflow }) => workflow));
  if (forgotten.size > 0)
    yield ["workflows forgotten", String(forgotten.size), "by a server with another database"];
  const ended = actions.flatMap((action) => action.ends[0] ?? []);
  yield [
    "actions",
    String(ended.length),
    `${ended.filter(({ state }) => state === "SUCCESS").length} succeeded`,
  ];
  const failed = ended.filter(({ state }) => state !== "SUCCESS");
  for (const [kind, of] of byCount(failed, classOf))
    yield [`failed: ${kind}`, String(of.length), of[0]?.message ?? ""];
  for (const [kind, count] of [...result.faults].toSorted((a, b) => b[1] - a[1])) {
    yield [`fault: ${kind}`, String(count), ""];
  }
  for (const [fault, reason] of result.leftOut) yield [`fault: ${fault}`, "0", `left out: ${reason}`];
  yield* recovery(result);
  for (const { worker, ...growth } of result.growth) {
    const megabytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`;
    const slope = growth.residentBytes / Math.max(growth.minutes, 1 / 60);
    const over = `${growth.descriptors} descriptors, in ${growth.minutes.toFixed(1)} minutes`;
    const resident = `resident ${megabytes(growth.residentBytes)} (${megabytes(slope)} a minute)`;
    yield [`growth: ${worker}`, megabytes(growth.heldBytes), `${resident}, ${over}`];
  }
  for (const [message, count] of log.errors) yield [`logged: ${message}`, String(count), ""];
}

function* recovery({
  exits,
  log,
  longestRecoveryMs,
  sessionsLost,
}: ChaosResult): Generator<readonly string[]> {
  for (const [worker, all] of exits) {
    const unasked = all.filter(({ asked }) => !asked).length;
    yield [`ends of ${worker}`, String(all.length), unasked === 0 ? "" : `${unasked} by itself`];
  }
  const { unfinished, notLaunched, lostAndRunAgain, lostAndFailed, reported } = log;
  const adopted = unfinished - notLaunched - lostAndRunAgain.length - lostAndFailed.length - reported;
  yield ["found after a restart", String(unfinished), `${adopted} adopted or found again by a later restart`];
  yield ["... already ended", String(reported), "reported"];
  yield ["... not launched", String(notLaunched), "run later"];
  yield ["... lost, idempotent", String(lostAndRunAgain.length), "run again"];
  yield ["... lost, not idempotent", String(lostAndFailed.length), "failed"];
  yield ["run again", String(log.launches - log.launched), "launches beyond the first of an action"];
  yield [
    "longest recovery",
    `${(longestRecoveryMs / 1_000).toFixed(1)} s`,
    "from a worker's end to its action's end",
  ];
  if (sessionsLost > 0) yield ["sessions lost", String(sessionsLost), "by actions that were killed"];
}

/** The class in a worker's message, such as `power-off node-1 failed (timeout, exit 16): not off after 25 s`. */
function classOf({ state, message }: ActionRecord["ends"][number]): string {
  return /failed \(([a-z]+)/.exec(message)?.[1] ?? state.toLowerCase();
}

function byCount<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
): readonly (readonly [string, readonly T[]])[] {
  return [...Map.groupBy(items, keyOf)].toSorted((a, b) => b[1].length - a[1].length);
}
