import { expect, test } from "vitest";
import { readWorkerLogs } from "./worker-log.ts";

const line = (msg: string, more: Readonly<Record<string, unknown>> = {}, level = 30) =>
  JSON.stringify({ level, time: "2026-01-01T00:00:00.000Z", ...more, msg });
const cut = { workflow: "default/chaos-1", action: "1-power-cycle" };

test("counts what workers found after a restart, and what became of it", () => {
  const first = [line("worker started", { unfinished: 0 }), line("action started", cut)];
  const second = [
    line("worker started", { unfinished: 3 }),
    line("action of an earlier run not launched: server serves it again", cut),
    line("action started", cut),
    line("non-idempotent action of an earlier run lost: not run again", {
      ...cut,
      workflow: "default/chaos-2",
    }),
    line("report of an earlier run pending", { ...cut, workflow: "default/chaos-3" }),
  ];

  expect(readWorkerLogs([first.join("\n"), second.join("\n")])).toMatchObject({
    unfinished: 3,
    notLaunched: 1,
    lostAndRunAgain: [],
    lostAndFailed: ["chaos-2/1-power-cycle"],
    reported: 1,
    launches: 2,
    launched: 1,
  });
});

test("counts errors by what they say, and keeps what is no log", () => {
  const text = [
    line("journal not written", {}, 50),
    line("journal not written", {}, 50),
    "Error: crashed",
  ].join("\n");

  const { errors, foreign } = readWorkerLogs([text]);

  expect([...errors]).toEqual([["journal not written", 2]]);
  expect(foreign).toEqual(["Error: crashed"]);
});
