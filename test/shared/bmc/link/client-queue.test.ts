import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { redfishLab } from "../../../support/bmc-lab.ts";

const never = new AbortController().signal;

test.each([
  ["an error of the caller's", new Error("the worker is stopping"), "cancelled"],
  ["no reason", undefined, "cancelled"],
  ["its own time over", AbortSignal.timeout(0), "timeout"],
])("a queued operation that is aborted with %s rejects at once", async (_, reason, expected) => {
  await using lab = await redfishLab({}, { latencyMs: 100 });
  const controller = new AbortController();
  const first = lab.client.getPower(never);
  const signal = reason instanceof AbortSignal ? reason : controller.signal;

  const second = lab.client.getPower(signal).catch((thrown: unknown) => thrown);
  controller.abort(reason);
  const [ended, error] = await Promise.race([
    first.then(() => ["the operation before", undefined]),
    second.then((thrown) => ["the aborted one", thrown]),
  ]);

  expect(ended).toBe("the aborted one");
  expect(error).toMatchObject({ name: "BmcError", class: expected });
  await expect(first).resolves.toBe("on");
});

test("an operation does not overtake the one before an aborted one", async () => {
  await using lab = await redfishLab({ power: "on", powerOffMs: 0 }, { latencyMs: 50 });
  const controller = new AbortController();
  const order: string[] = [];
  const off = lab.client
    .setPower({ verb: "off", mode: "hard", softTimeoutMs: 0, timeoutMs: 10_000 }, never)
    .then(() => order.push("off"));

  const aborted = lab.client.getPower(controller.signal).catch(() => order.push("aborted"));
  const after = lab.client.getPower(never).then((state) => order.push(`read ${state}`));
  await sleep(20);
  controller.abort();
  await Promise.all([off, aborted, after]);

  expect(order).toEqual(["aborted", "off", "read off"]);
});
