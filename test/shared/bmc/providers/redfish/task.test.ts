import { afterEach, expect, test } from "vitest";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { TASK_MONITORS, type TaskOptions } from "../../../../../simulators/redfish/tasks.ts";
import { errorOf, neverAborts, openSession, withSession } from "./open-session.ts";

const signal = neverAborts();
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(tasks: TaskOptions): Promise<void> {
  bmc = await startRedfishBmc({ tls: "http", tasks });
}

const polls = () => bmc.log.filter((line) => line === `GET ${TASK_MONITORS}/1`).length;

test("a 202 is followed to the end of its task", async () => {
  await start({ ms: 500, retryAfter: "0.05" });

  await withSession(bmc, {}, ({ power }) => power.send("off", signal));

  expect(polls()).toBeGreaterThanOrEqual(2);
  expect(bmc.machine.count("off")).toBe(1);
});

test("a monitor that answers 200 with a running task is followed too", async () => {
  await start({ ms: 500, retryAfter: "0.05", runningStatus: 200 });

  await withSession(bmc, {}, ({ power }) => power.send("off", signal));

  expect(polls()).toBeGreaterThanOrEqual(2);
});

test("Retry-After is waited for", async () => {
  await start({ ms: 10, retryAfter: "1" });
  const startedAt = performance.now();

  await withSession(bmc, {}, ({ power }) => power.send("off", signal));

  expect(polls()).toBe(1);
  expect(performance.now() - startedAt).toBeGreaterThan(900);
});

test("the messages of a failed task are the error", async () => {
  await start({ ms: 10, retryAfter: "0.05", failure: "The chassis lid is open." });

  const error = await withSession(bmc, {}, ({ power }) => errorOf(power.send("off", signal)));

  expect(error.class).toBe("bmc");
  expect(error.message).toContain("The chassis lid is open. (Contoso.1.0.TaskFailed)");
});

test("a busy monitor does not end the wait", async () => {
  await start({ ms: 60, retryAfter: "0.05" });
  bmc.fail({ kind: "refuse", path: /TaskMonitors/, retryAfter: "0.05", times: 2 });

  await withSession(bmc, {}, ({ power }) => power.send("off", signal));

  expect(polls()).toBeGreaterThanOrEqual(3);
});

test("an abort ends the wait", async () => {
  await start({ ms: 60_000, retryAfter: "0.05" });
  const controller = new AbortController();
  const session = await openSession(bmc);
  const sending = session.power.send("off", controller.signal);
  const rejected = expect(sending).rejects.toThrow("enough");

  setTimeout(() => controller.abort(new Error("enough")), 100);

  await rejected;
  await session.close();
});
