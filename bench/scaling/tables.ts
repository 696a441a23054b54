import type { HandOver, ScalingFigures, ScalingOptions } from "./measure.ts";

/** The figures as tables of Markdown. */
export function scalingTables({ machines, replicas, seed }: ScalingOptions, figures: ScalingFigures): string {
  const { agentIds, shards, rest, startMs, startRequests, startPeak, handOvers, doubles } = figures;
  const rows: readonly (readonly [string, string])[] = [
    [
      "agent IDs per replica, least / median / most",
      `${agentIds.least} / ${agentIds.median} / ${agentIds.most}`,
    ],
    ["shards per replica, least / most", `${shards.least} / ${shards.most}`],
    ["idle updates per second", rest.update.toFixed(1)],
    ["other idle requests per second", rest.otherRequests.toFixed(1)],
    ["idle watch events per second, all replicas", rest.watchEvents.toFixed(0)],
    ["idle watch bytes per second, all replicas", `${(rest.watchBytes / 1_024).toFixed(0)} KiB`],
    ["all started within 5 s: every agent ID is polled after", seconds(startMs)],
    ["requests until then; peak per second", `${startRequests}; ${startPeak}`],
    ["times at which two replicas polled for one agent ID", String(doubles)],
  ];
  const head = `${machines.toLocaleString("en")} machines, ${replicas} replicas, seed ${seed}`;
  return [
    table([head, "figure"], rows),
    table(
      ["event", "agent IDs moved", "without a poll, 50 / 99 / 100 %", "writes", "peak per second"],
      handOvers.map(handOverRow),
    ),
  ].join("\n\n");
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
