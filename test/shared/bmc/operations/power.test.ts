import { describe, expect, test } from "vitest";
import { type PowerRequest, setPower } from "../../../../shared/bmc/operations/power.ts";
import { EndUnknown } from "../../../../shared/bmc/operations/read-back.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { redfishLab } from "../../../support/bmc-lab.ts";
import { machineThatReads } from "./machine-that-reads.ts";

const signal = new AbortController().signal;
const on: PowerRequest = { verb: "on", timeoutMs: 100_000 };
const hardOff: PowerRequest = { verb: "off", mode: "hard", softTimeoutMs: 0, timeoutMs: 100_000 };
const softOff: PowerRequest = { verb: "off", mode: "soft", softTimeoutMs: 10_000, timeoutMs: 100_000 };
const softThenHard: PowerRequest = { ...softOff, mode: "soft-then-hard" };
const cycle: PowerRequest = { verb: "cycle", offDurationMs: 0, timeoutMs: 100_000 };
const reset: PowerRequest = { verb: "reset", onIfOff: false, timeoutMs: 100_000 };
const RESET = /\.Reset$/;

const lost = new BmcError("timeout", "no answer", { uncertain: true });
const refusal = new BmcError("bmc", "no");

describe("the readings decide what is sent, and whether it has succeeded", () => {
  test.each([
    ["off once and then on", ["off", "on", "off"]],
    ["on and then off", ["on", "off"]],
  ] as const)("a machine that reads %s is not off already", async (_, readings) => {
    const machine = machineThatReads(readings);

    const report = await setPower(machine, hardOff);

    expect(report).toMatchObject({ before: readings[0], after: "off", changed: true });
    expect(machine.sent).toEqual(["off"]);
  });

  test("an intermediate state is waited for before anything is sent", async () => {
    const machine = machineThatReads(["unknown", "unknown", "on"]);

    expect(await setPower(machine, on)).toMatchObject({ before: "on", changed: false });
    expect(machine.sent).toEqual([]);
    expect(machine.tookMs()).toBe(500);
  });

  test("a state that stays unknown for 30 s is no obstacle", async () => {
    const machine = machineThatReads(["unknown"]);

    await expect(setPower(machine, { ...on, timeoutMs: 40_000 })).rejects.toMatchObject({ class: "timeout" });

    expect(machine.sent).toEqual(["on"]);
    expect(machine.tookMs()).toBe(70_000);
  });

  test("a lost command is repeated once, when nothing has moved for 10 s", async () => {
    const machine = machineThatReads(["off"], { on: [lost, lost] });

    await expect(setPower(machine, on)).rejects.toMatchObject({
      class: "timeout",
      message: expect.stringMatching(/^not on after 1m 40s, although no answer to "on" arrived \(.+\)$/),
    });

    expect(machine.sent).toEqual(["on", "on"]);
    expect(machine.tookMs()).toBe(110_000);
  });

  test("a lost command is not waited for longer than asked before it is repeated", async () => {
    const machine = machineThatReads(["off"], { on: [lost] });

    await expect(setPower(machine, { ...on, timeoutMs: 2_000 })).rejects.toMatchObject({
      message: 'not on after 2.0 s, although the BMC accepted "on"',
    });

    expect(machine.sent).toEqual(["on", "on"]);
    expect(machine.tookMs()).toBe(4_000);
  });

  test("a lost command whose state comes within 10 s is not repeated", async () => {
    const machine = machineThatReads(["off", "off", "unknown", "on"], { on: [lost] });

    expect(await setPower(machine, on)).toMatchObject({ after: "on", changed: true });
    expect(machine.sent).toEqual(["on"]);
  });

  test.each([
    ["comes on within 3 s", ["off", "off", "on"], { after: "on", changed: true }],
    ["stays off", ["off"], refusal],
  ] as const)(
    "a refusal by a BMC whose machine %s is decided by the state",
    async (_, readings, expected) => {
      const machine = machineThatReads(readings, { on: [refusal] });

      const result = await setPower(machine, on).catch((thrown: unknown) => thrown);

      if (expected === refusal) expect(result).toBe(refusal);
      else expect(result).toMatchObject(expected);
      expect(machine.sent).toEqual(["on"]);
      expect(machine.tookMs()).toBeLessThanOrEqual(3_000);
    },
  );

  test.each(["auth", "cancelled", "tls", "usage"] as const)(
    "an error of class %s is final, whatever the state becomes",
    async (errorClass) => {
      const error = new BmcError(errorClass, "no");
      const machine = machineThatReads(["off", "on"], { on: [error] });

      await expect(setPower(machine, on)).rejects.toBe(error);
      expect(machine.left).toEqual(["on"]);
    },
  );

  test.each([
    ["on", true],
    ["off", false],
  ] as const)(
    "off that is read first when the time is over, and then %s, is a failure: %s",
    async (next, fails) => {
      // Reads at 0 ms, 500 ms and at the end.
      const machine = machineThatReads(["on", "on", "on", "off", next]);

      const result = await setPower(machine, { ...hardOff, timeoutMs: 1_000 }).catch(BmcError.from);

      expect(result instanceof BmcError).toBe(fails);
      expect(machine.sent).toEqual(["off"]);
    },
  );

  test("off that is read only after the time is over is a failure", async () => {
    const machine = machineThatReads(["on", "on", "on", "on", "off"]);

    const result = setPower(machine, { ...hardOff, timeoutMs: 1_000 });

    await expect(result).rejects.toMatchObject({ class: "timeout" });
  });

  test("off is read at most 5 s after it came, however long the shutdown takes, and confirmed half a second later", async () => {
    const afterReadings = async (count: number) => {
      const machine = machineThatReads([...Array<"on">(count).fill("on"), "off"]);
      await setPower(machine, { ...softOff, softTimeoutMs: 600_000 });
      return machine.tookMs();
    };
    const took = await Promise.all([40, 41].map(afterReadings));

    // The first reading decides what is sent; the second comes at once.
    expect(await afterReadings(2)).toBe(500 + 500);
    expect(took[1]).toBe((took[0] ?? 0) + 5_000);
  });

  test("a graceful shutdown whose answer was lost is waited for, and not sent again", async () => {
    const machine = machineThatReads(["on", "on", "off"], { "soft-off": [lost] });

    expect((await setPower(machine, softThenHard)).summary).toMatch(/\(graceful\)$/);
    expect(machine.sent).toEqual(["soft-off"]);
  });

  test.each(["unsupported", "bmc", "state", "busy"] as const)(
    "a graceful shutdown refused with %s is forced, unless the machine is off or only soft is allowed",
    async (errorClass) => {
      const error = new BmcError(errorClass, "not now");
      const answers = { "soft-off": [error] };
      const [staysOn, wentOff, softOnly] = [
        machineThatReads(["on", "on", "off"], answers),
        machineThatReads(["on", "off"], answers),
        machineThatReads(["on"], answers),
      ];

      expect((await setPower(staysOn, softThenHard)).summary).toMatch(
        /forced, graceful .* possible: not now/,
      );
      expect((await setPower(wentOff, softThenHard)).summary).toMatch(/graceful/);
      await expect(setPower(softOnly, softOff)).rejects.toBe(error);

      expect(staysOn.sent).toEqual(["soft-off", "off"]);
      expect([wentOff.sent, softOnly.sent]).toEqual([["soft-off"], ["soft-off"]]);
    },
  );

  test("a graceful shutdown that fails otherwise forces nothing", async () => {
    const error = new BmcError("auth", "no");
    const machine = machineThatReads(["on"], { "soft-off": [error] });

    await expect(setPower(machine, softThenHard)).rejects.toBe(error);
    expect(machine.sent).toEqual(["soft-off"]);
  });

  test("a cycle that the BMC accepted is sent once, even if its off phase is too short to be seen", async () => {
    const machine = machineThatReads(["on"]);

    const report = await setPower(machine, cycle);

    expect(report).toMatchObject({ before: "on", after: "on", changed: true });
    expect(report.summary).toBe("cycled in 10.0 s (confirmed by the BMC, too fast to observe off)");
    expect(machine.sent).toEqual(["cycle"]);
  });

  test("a machine that was paused on the way of a cycle was not seen off", async () => {
    const machine = machineThatReads(["on", "unknown", "unknown", "on"]);

    expect((await setPower(machine, cycle)).summary).not.toContain("off, then on");
  });

  test("a cycle whose answer was lost is not sent again, and fails if the machine was not seen off", async () => {
    const seen = machineThatReads(["on", "on", "off", "on"], { cycle: [lost] });
    const unseen = machineThatReads(["on"], { cycle: [lost] });

    expect((await setPower(seen, cycle)).summary).toMatch(/\(off, then on\)$/);
    await expect(setPower(unseen, cycle)).rejects.toMatchObject({
      class: "timeout",
      message: /not sent again/,
    });

    expect([seen.sent, unseen.sent]).toEqual([["cycle"], ["cycle"]]);
  });

  test("a cycle that the BMC does not have after all is off, a wait, and on", async () => {
    const refused = { cycle: [new BmcError("unsupported", "no cycle")] };
    const looks = Array<"on">(7).fill("on");
    const machine = machineThatReads([...looks, "off", "off", "on"], refused);

    const report = await setPower(machine, cycle);

    expect(report).toMatchObject({ after: "on", changed: true });
    expect(report.summary).toMatch(/\(off for 5.0 s, then on\)$/);
    expect(machine.sent).toEqual(["cycle", "off", "on"]);
    expect(machine.waits).toContain("off, waiting before power on");
  });

  test("a machine that cannot be powered on again is not powered off, and another refusal ends a cycle", async () => {
    const noOn = new BmcError("unsupported", "no on");
    const stuck = machineThatReads(["on", "off"], {}, { on: noOn });
    const refusing = machineThatReads(["on"], { cycle: [refusal] });
    const failing = machineThatReads(["on"], {}, { cycle: refusal });

    await expect(setPower(stuck, { ...cycle, offDurationMs: 1_000 })).rejects.toBe(noOn);
    await expect(setPower(refusing, cycle)).rejects.toBe(refusal);
    await expect(setPower(failing, cycle)).rejects.toBe(refusal);

    expect([stuck.sent, refusing.sent, failing.sent]).toEqual([[], ["cycle"], []]);
  });

  test("a machine that was off has been changed by a cycle, and by a reset that may power it on", async () => {
    const machines = [machineThatReads(["off", "on"]), machineThatReads(["off", "on"])] as const;

    const reports = [
      await setPower(machines[0], cycle),
      await setPower(machines[1], { ...reset, onIfOff: true }),
    ];

    for (const report of reports) expect(report).toMatchObject({ before: "off", after: "on", changed: true });
  });

  test("a reset that leaves the machine off is a timeout, and is not sent again", async () => {
    const machine = machineThatReads(["on", "off"]);

    await expect(setPower(machine, reset)).rejects.toMatchObject({
      class: "timeout",
      message: "not on after 1m 40s, although the reset was accepted",
    });
    expect(machine.sent).toEqual(["reset"]);
  });
});

describe("off", () => {
  test("soft never forces a machine that does not listen", async () => {
    await using lab = await redfishLab({ power: "on", softOffMs: "never" });

    const powering = lab.client.setPower(softOff, signal);

    await expect(powering).rejects.toMatchObject({ class: "timeout", message: /still on 10.0 s after/ });
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["soft-off"]);
  });

  test("soft-then-hard forces a machine that does not listen, and says so while it waits and at the end", async () => {
    await using lab = await redfishLab({ power: "on", softOffMs: "never" });

    const report = await lab.client.setPower(softThenHard, signal);

    expect(report.summary).toMatch(/\(forced, still on 10.0 s after the graceful shutdown request\)$/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["soft-off", "off"]);
    expect(lab.logged).toEqual([
      [{ progress: true, limitMs: 10_000 }, "shutdown requested"],
      [{ progress: true, limitMs: 100_000 }, "waiting for power off"],
    ]);
  });
});

describe("cycle", () => {
  test("a BMC without a cycle of its own is taken through off and on", async () => {
    await using lab = await redfishLab({ power: "on" }, { profile: "hpe-ilo5" });

    await lab.client.setPower(cycle, signal);

    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off", "on"]);
  });
});

test("operations on one client run one after the other", async () => {
  await using lab = await redfishLab({ power: "on" });

  const [off, back] = await Promise.all([
    lab.client.setPower(hardOff, signal),
    lab.client.setPower(on, signal),
  ]);

  expect(off.after).toBe("off");
  expect(back).toMatchObject({ before: "off", after: "on", changed: true });
  expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off", "on"]);
});

describe("a refusal of what the BMC offers", () => {
  const reset = { verb: "reset", onIfOff: false, timeoutMs: 20_000 } as const;

  test.each([401, 403, 404, 405, 409, 500, 501])(
    "with %i after a reset was carried out does not have it sent again",
    async (status) => {
      await using lab = await redfishLab({ power: "on" });
      lab.bmc.fail({ kind: "gateway", status, method: "POST", path: RESET });

      await expect(lab.client.setPower(reset, signal)).rejects.toMatchObject({
        uncertain: true,
        message: /the reset may have been carried out and is not sent again$/,
      });
      expect(lab.machine.count("reset")).toBe(1);
    },
  );

  test("is no failure if the time of the last reset has changed, and is repeated if it has not", async () => {
    const busy = new BmcError("busy", "409", { uncertain: true });
    const machine = (times: readonly string[]) => {
      const left = [...times];
      const fake = machineThatReads(["on"], { reset: [busy] });
      const resetMark = () => ({ resetTime: (left.length > 1 ? left.shift() : left[0]) ?? "" });
      return { ...fake, resetMark, disprove: () => undefined };
    };
    const done = machine(["10:00", "10:05"]);
    const notDone = machine(["10:00"]);

    const reports = [await setPower(done, reset), await setPower(notDone, reset)];

    expect(reports.map(({ changed }) => changed)).toEqual([true, true]);
    expect([done.sent, notDone.sent]).toEqual([["reset"], ["reset", "reset"]]);
  });

  test.each([
    { name: "a later reset", times: ["10:00", "10:05"], readings: ["on"] },
    { name: "a machine that was off for a moment", times: ["10:00"], readings: ["on", "off", "on"] },
  ] as const)("whose task ends unknown is proven by $name", async ({ times, readings }) => {
    const report = await setPower(withUnknownEnd(times, readings), reset);

    expect(report).toMatchObject({ after: "on", changed: true });
  });

  test.each([[["10:00"]], [[undefined]]])(
    "whose task ends unknown is a failure if nothing shows it (%j)",
    async (times) => {
      const machine = withUnknownEnd(times, ["on"]);

      await expect(setPower(machine, reset)).rejects.toMatchObject({
        class: "verify",
        message: "how it ended is unknown",
      });
      expect(machine.sent).toEqual(["reset"]);
    },
  );

  test("with 409 is looked at before each repetition of a power on", async () => {
    const busy = new BmcError("busy", "409");
    const machine = machineThatReads(["off", "off", "off", "on"], { on: Array(9).fill(busy) });

    const report = await setPower(machine, { verb: "on", timeoutMs: 300_000 });

    expect(report).toMatchObject({ after: "on", changed: true });
    expect(machine.sent).toEqual(["on"]);
  });
});

/** A machine whose reset leaves a task that says nothing; the last reset is at these times in turn, undefined where none is shown. */
function withUnknownEnd(times: readonly (string | undefined)[], readings: readonly ("on" | "off")[]) {
  const left = [...times];
  const resetMark = () => {
    const resetTime = left.length > 1 ? left.shift() : left[0];
    return resetTime === undefined ? undefined : { resetTime };
  };
  const ended = async () => {
    throw new EndUnknown("how it ended is unknown");
  };
  const work = { failure: async () => undefined, words: async () => "", ended };
  return { ...machineThatReads(readings), resetMark, work };
}
