import { expect, it } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { redactor } from "../../../../shared/secret-forms.ts";
import { type ActionEvent, noObserver, seenAction } from "../../../../worker/core/action/observer.ts";
import { ActionOutput } from "../../../../worker/core/run/action-output.ts";

const REASON = "still on";
const ids = { workflowId: "w", taskId: "t", agentId: "a", actionId: "i", name: "power-off", image: "off" };

it("takes progress from the log of any action, and no reason for its failure", () => {
  const events: ActionEvent[] = [];
  const output = new ActionOutput({
    action: seenAction(ids),
    fields: {},
    redact: redactor({}),
    clock: systemClock,
    log: silentLogger,
    observer: { ...noObserver, action: (event) => void events.push(event), spans: () => undefined },
  });
  const time = "2026-01-01T10:00:00.000Z";
  const lines = [
    { level: 30, time, msg: "shutdown requested", progress: true, limitMs: 60_000 },
    { level: "info", message: "writing\u202e image", progress: true, limitMs: -1 },
    { level: 30, msg: "no progress", progress: "true" },
    { level: 30, msg: "x".repeat(1_000), progress: true },
  ];

  for (const line of lines) {
    output.terms.onLog({ stream: "stderr", line: JSON.stringify(line, undefined, 1).replaceAll("\n", "") });
  }

  const shown = events.flatMap((event) => (event.kind === "progress" ? [event] : []));
  expect(shown.map(({ progress }) => progress)).toEqual([
    { text: "shutdown requested", limitMs: 60_000 },
    { text: "writing\\u202e image" },
    { text: `${"x".repeat(199)}…` },
  ]);
  expect(shown[0]?.at).toEqual(new Date(time));
  expect(events.filter(({ kind }) => kind === "line")).toHaveLength(lines.length);
  const result = { action: "power-off", ok: false, message: REASON, durationMs: 1, roundTrips: 1 };
  const at = new Date(0);
  const failed = { ok: false, message: REASON, startedAt: at, stoppedAt: at, timedOut: false, killed: false };
  expect(output.complete({ ...failed, result }).message).toBe(`${REASON}; its log: no progress`);
});
