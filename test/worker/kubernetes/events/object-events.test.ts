import { describe, expect, onTestFinished, test } from "vitest";
import type { LogFields, Logger } from "../../../../shared/logger.ts";
import type { RbacRule } from "../../../../simulators/kubernetes/cluster.ts";
import { ObjectEvents, type ObjectReference } from "../../../../worker/kubernetes/events/object-events.ts";
import { openFakeCluster } from "../../../support/fake-cluster.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

const WAIT = { timeout: 20_000, interval: 10 };
const ALLOWED: RbacRule = { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] };
const reference = (name: string): ObjectReference => ({
  ...{ apiVersion: "bmc.tinkerbell.org/v1alpha1", kind: "Machine", namespace: "tink-system" },
  ...{ name, uid: `uid-of-${name}` },
});

/** Events written to an API server on a socket. */
async function lab(rules: readonly RbacRule[] = [ALLOWED]) {
  const there = await openFakeCluster({ controllers: false, rights: rules });
  const { fake } = there;
  const cluster = await there.connect();
  const clock = new VirtualClock();
  const warnings: [message: string, fields: LogFields][] = [];
  const quiet = () => undefined;
  const log: Logger = {
    ...{ debug: quiet, info: quiet, error: quiet },
    warn: (fields, message) => void warnings.push([message, fields]),
  };
  const events = new ObjectEvents({ cluster, clock, log });
  const stop = new AbortController();
  const running = events.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    await there[Symbol.asyncDispose]();
  });
  const drifted = (message: string, name = "node-1") =>
    events.add({ object: reference(name), type: "Warning", reason: "Drifted", message });
  // Their names are random, and so is their order.
  const found = () =>
    fake
      .list("v1", "Event", "tink-system")
      .toSorted((one, other) => String(one["message"]).localeCompare(String(other["message"])));
  return { fake, clock, drifted, found, warnings };
}

describe("events on objects", () => {
  test("name the object, and an equal one raises the count", async () => {
    const { drifted, found } = await lab();

    drifted("power");
    drifted("power");
    drifted("ntp");
    const counts = () => found().map(({ count, message }) => [message, count]);
    await expect.poll(counts, WAIT).toEqual([
      ["ntp", 1],
      ["power", 2],
    ]);
    expect(found()[0]).toMatchObject({
      involvedObject: reference("node-1"),
      ...{ type: "Warning", reason: "Drifted", source: { component: "pbnj-worker" } },
    });
  });

  test("that the API server has removed are written anew", async () => {
    const { drifted, fake, found } = await lab();
    drifted("power");
    await expect.poll(() => found().length, WAIT).toBe(1);
    fake.remove("v1", "Event", found()[0]?.metadata.name ?? "", "tink-system");

    drifted("power");

    await expect.poll(() => found().length, WAIT).toBe(1);
  });

  test("are limited per object and hour, and their messages in length", async () => {
    const { clock, drifted, found } = await lab();
    for (let n = 0; n < 50; n += 1) drifted(`${n} ${"x".repeat(5_000)}`);
    drifted("another object", "node-2");
    await expect.poll(() => found().length, WAIT).toBe(21);
    expect(Math.max(...found().map(({ message }) => String(message).length))).toBe(1_024);

    const endMs = clock.monotonicMs() + 60 * 60_000;
    void clock.sleep(60 * 60_000);
    await clock.until(() => clock.monotonicMs() >= endMs, 61 * 60_000);
    drifted("an hour later");

    await expect.poll(() => found().length, WAIT).toBe(22);
  });

  test("without the right to write them cost one warning", async () => {
    const { drifted, fake, found, warnings } = await lab([]);

    drifted("power");
    drifted("ntp");
    await expect.poll(() => fake.countBy("create", "events"), WAIT).toBe(2);

    expect(found()).toEqual([]);
    await expect
      .poll(() => warnings, WAIT)
      .toMatchObject([["event not written", { object: "Machine tink-system/node-1" }]]);
  });
});
