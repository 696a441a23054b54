import type { HandOver, ScalingFigures, ScalingOptions } from "./measure.ts";

/** The figures as tables of Markdown. */
export function scalingTables({ machines, replicas, seed }: ScalingOptions, figures: ScalingFigures): string {
  const { agentIds, shards, rest, startMs, startRequests, startPeak, handOvers, doubles, actions } = figures;
  const rows: readonly (readonly [string, string])[] = [
    [
      "agent IDs per replica, least / median / most",
      `${agentIds.least} / ${agentIds.median} / ${agentIds.most}`,
    ],
    ["shards per replica, least / most", `${shards.least} / ${shards.most}`],
    ["idle updates per second", rest.update.toFixed(1)],
    ["other idle requests per second", rest.otherRequests.toFixed(1)],
    ...watchRows(rest.watch),
    [`all started ${actions ? "at once" : "within 5 s"}: every agent ID is polled after`, seconds(startMs)],
    ["requests until then; peak per second", `${startRequests}; ${startPeak}`],
    ["times at which two replicas polled for one agent ID", String(doubles)],
    ...(actions ? [["Jobs; workflows; of those, failed", jobs(actions)] as const] : []),
  ];
  const run = actions ? "processes" : `seed ${seed}`;
  const head = `${machines.toLocaleString("en")} machines, ${replicas} replicas, ${run}`;
  return [
    table([head, "figure"], rows),
    table(
      ["event", "agent IDs moved", "without a poll, 50 / 99 / 100 %", "writes", "peak per second"],
      handOvers.map(handOverRow),
    ),
  ].join("\n\n");
}

function watchRows(watch: ScalingFigures["rest"]["watch"]): readonly (readonly [string, string])[] {
  if (!watch) return [];
  return [
    ["idle watch events per second, all replicas", watch.events.toFixed(0)],
    ["idle watch bytes per second, all replicas", `${(watch.bytes / 1_024).toFixed(0)} KiB`],
  ];
}

function jobs({ jobs, workflows, failed }: NonNullable<ScalingFigures["actions"]>): string {
  return `${jobs}; ${workflows}; ${failed.length}`;
}

function handOverRow({ event, moves, gapsMs, requests, peakRequestsPerSecond }: HandOver): readonly string[] {
  return [
    event,
    String(moves),
    gapsMs.length === 0 ? "none" : gapsMs.map(seconds).join(" / "),
    String(requests),
    String(peakRequestsPerSecond),
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 1_000 ? 2 : 1)} s`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
