import { describe, expect, onTestFinished, test } from "vitest";
import type { Hardware } from "../../../../shared/bmc/operations/inventory.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import type { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { raceAbort } from "../../../../shared/race-abort.ts";
import { redactor } from "../../../../shared/secret-forms.ts";
import { type ActionEvent, seenAction } from "../../../../worker/core/action/observer.ts";
import { HardwareStore } from "../../../../worker/features/hardware/hardware-store.ts";
import { MachinePaused } from "../../../../worker/machines/pause.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

const HOUR = 3_600_000;
const machine = { name: "node-1", lockKey: "192.0.2.1" };
const hardware = (serial: string): Hardware => ({
  ...{ system: { serial }, processors: [], memory: [], disks: [], nics: [], firmware: [] },
});

/** A store whose machines answer as `answer` says: with the number of the read as their serial number, by default. */
function lab(answer: (count: number, signal: AbortSignal) => Promise<void> | void = () => undefined) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const reads: string[] = [];
  const ends: (ErrorClass | undefined)[] = [];
  const waits: unknown[] = [];
  let open = 0;
  let most = 0;
  const store = new HardwareStore({
    reader: {
      async getHardware(name, signal) {
        reads.push(name);
        const count = reads.length;
        open += 1;
        most = Math.max(most, open);
        try {
          await answer(count, signal);
        } finally {
          open -= 1;
        }
        const result = {
          ...{ action: "inventory", ok: true, message: "", durationMs: 1, roundTrips: 1 },
          ...{ provider: "redfish" as const, data: hardware(`S${count}`) },
        };
        return { result, redact: redactor({}) };
      },
    },
    maxAgeMs: 24 * HOUR,
    isTrusted: (image) => image.startsWith("trusted/"),
    onRead: (errorClass) => ends.push(errorClass),
    clock,
    log: {
      ...{ info: () => undefined, error: () => undefined },
      warn: (fields) => waits.push(fields["waitMs"]),
      debug: (fields) => fields["waitMs"] !== undefined && waits.push(fields["waitMs"]),
    },
    random: () => 0,
  });
  const running = store.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  /** Asks every minute, like a lane that polls. */
  const poll = async (until: () => boolean, limitMs: number) => {
    const endMs = clock.monotonicMs() + limitMs;
    while (!until()) {
      store.find(machine);
      if (clock.monotonicMs() > endMs) throw new Error(`not within ${limitMs} ms`);
      const nextMs = clock.monotonicMs() + 60_000;
      void clock.sleep(60_000);
      await clock.until(() => until() || clock.monotonicMs() >= nextMs, 120_000);
    }
  };
  const serial = () => store.find(machine)?.hardware.system.serial;
  return { store, clock, reads, ends, waits, poll, serial, most: () => most };
}

const action = (image: string) =>
  seenAction({
    ...{ workflowId: "default/w", taskId: "t", agentId: "a", actionId: "x", name: "inventory", image },
  });

function ended(image: string, seen: Hardware | undefined, stoppedAt: Date): ActionEvent {
  const outcome = {
    ...{ ok: true, message: "", startedAt: stoppedAt, stoppedAt, timedOut: false, killed: false },
    ...(seen && { hardware: seen }),
  };
  return { kind: "ended", action: action(image), machine: "node-1", runtime: "docker", outcome };
}

const taken = (image: string, at: Date): ActionEvent => ({
  ...{ kind: "taken", action: action(image), machine: "node-1", at },
});

describe("a machine's hardware", () => {
  test("is read once when it is asked for, and again when it is too old", async () => {
    const { store, clock, reads, poll, serial } = lab();

    expect(store.find(machine)).toBeUndefined();
    await clock.until(() => store.size === 1, 1_000);
    expect(store.find(machine)).toMatchObject({ hardware: hardware("S1"), provider: "redfish" });
    await poll(() => clock.monotonicMs() > 23 * HOUR, 24 * HOUR);
    expect(reads).toHaveLength(1);

    await poll(() => serial() === "S2", 2 * HOUR);
  });

  test("is not read while the machine is paused, which is no failure, and is read once it is in service", async () => {
    const paused = { reason: "fan replacement", by: "inventory machines.yaml" };
    const { clock, ends, waits, poll, reads, serial } = lab((count) => {
      if (count <= 3) throw new MachinePaused(machine.name, paused);
    });

    await poll(() => serial() !== undefined, HOUR);

    expect(reads).toHaveLength(4);
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(3 * 60_000);
    expect([ends, waits]).toEqual([[undefined], []]);
  });

  test("is not read for a machine that no lane asks for any more", async () => {
    const { store, clock, reads } = lab();
    store.find(machine);
    await clock.until(() => store.size === 1, 1_000);

    const later = clock.sleep(100 * HOUR).then(() => "over");
    await clock.until(() => clock.monotonicMs() >= 100 * HOUR, 101 * HOUR);

    expect(await later).toBe("over");
    expect(reads).toHaveLength(1);
  });

  test("is forgotten when the machine is given another BMC", async () => {
    const { store, clock } = lab();
    store.find(machine);
    await clock.until(() => store.size === 1, 1_000);

    const other = { ...machine, lockKey: "192.0.2.2" };

    expect(store.find(other)).toBeUndefined();
    store.refresh(machine.name);
    await clock.until(() => store.find(other) !== undefined, 1_000);
    expect(store.find(other)?.hardware.system.serial).toBe("S2");
  });

  test("is read of a few machines at a time", async () => {
    const gate = Promise.withResolvers<void>();
    const { store, clock, reads, most } = lab(() => gate.promise);
    for (let index = 0; index < 20; index += 1) store.find({ name: `m${index}`, lockKey: `${index}` });
    await clock.until(() => reads.length === 4, 1_000);
    gate.resolve();
    await clock.until(() => store.size === 20, 1_000);

    expect(most()).toBe(4);
  });

  test("is read with longer and longer pauses from a BMC that does not answer", async () => {
    const { reads, ends, waits, poll } = lab((count) => {
      if (count < 9) throw new BmcError("unreachable", "no route");
    });

    await poll(() => reads.length === 9, 9 * HOUR);

    const minutes = waits.map((wait) => Number(wait) / 60_000);
    expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(ends).toEqual([...Array(8).fill("unreachable"), undefined]);
  });

  test("is not read while an action has the machine, and a read gives way to an action", async () => {
    const { store, clock, reads, poll } = lab((count, signal) =>
      count === 1 ? raceAbort(new Promise<void>(() => undefined), signal) : undefined,
    );
    const image = "trusted/power-off:v1";
    store.find(machine);
    await clock.until(() => reads.length === 1, 1_000);

    store.observer.action?.(taken(image, new Date(clock.now())));
    await poll(() => clock.monotonicMs() > 10 * 60_000, HOUR);
    expect(reads).toHaveLength(1);
    store.observer.action?.(ended(image, undefined, new Date(clock.now())));

    await poll(() => store.size === 1, 5 * 60_000);
    expect(reads).toHaveLength(2);
  });

  test.each([
    ["an image that the policy trusts with the password", "trusted/inventory:v1", "ACTION"],
    ["no other image, which could invent it", "other/inventory:v1", "S1"],
  ])("comes from an inventory action of %s", async (_, image, expected) => {
    const { store, clock, reads, serial } = lab();
    store.find(machine);
    await clock.until(() => store.size === 1, 1_000);

    store.observer.action?.(taken(image, new Date(clock.now())));
    store.observer.action?.(ended(image, hardware("ACTION"), new Date(clock.now())));

    expect(serial()).toBe(expected);
    expect(reads).toHaveLength(1);
  });
});
