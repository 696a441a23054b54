import { describe, expect, test } from "vitest";
import type { PowerRequest } from "../../../../shared/bmc/operations/power.ts";
import { redfishLab } from "../../../support/bmc-lab.ts";

const signal = new AbortController().signal;
const on: PowerRequest = { verb: "on", timeoutMs: 100_000 };
const hardOff: PowerRequest = { verb: "off", mode: "hard", softTimeoutMs: 0, timeoutMs: 100_000 };
const softOff: PowerRequest = { verb: "off", mode: "soft", softTimeoutMs: 10_000, timeoutMs: 100_000 };
const softThenHard: PowerRequest = { ...softOff, mode: "soft-then-hard" };
const cycle: PowerRequest = { verb: "cycle", offDurationMs: 0, timeoutMs: 100_000 };
const reset: PowerRequest = { verb: "reset", onIfOff: false, timeoutMs: 100_000 };
const RESET = /\.Reset$/;

describe("on", () => {
  test("a machine that is off is powered on, and the state has been read as on", async () => {
    await using lab = await redfishLab({ power: "off" });

    const report = await lab.client.setPower(on, signal);

    expect(report).toMatchObject({ before: "off", after: "on", changed: true });
    expect(report.summary).toMatch(/^on after \d/);
    expect(lab.machine.power).toBe("on");
    expect(lab.machine.count("on")).toBe(1);
  });

  test("a machine that is on is left alone", async () => {
    await using lab = await redfishLab({ power: "on" });

    const report = await lab.client.setPower(on, signal);

    expect(report).toEqual({ before: "on", after: "on", changed: false, summary: "already on" });
    expect(lab.machine.commands).toEqual([]);
  });

  test("a machine that does not come on in time is a timeout, not a success", async () => {
    await using lab = await redfishLab({ power: "off", powerOnMs: 60_000 });

    const powering = lab.client.setPower({ ...on, timeoutMs: 5_000 }, signal);

    await expect(powering).rejects.toMatchObject({ class: "timeout", message: /not on after 5.0 s/ });
    expect(lab.machine.count("on")).toBe(1);
  });

  test("a lost answer to a command that was carried out sends nothing again", async () => {
    await using lab = await redfishLab({ power: "off" });
    lab.bmc.fail({ kind: "close-after", method: "POST", path: RESET });

    const report = await lab.client.setPower(on, signal);

    expect(report.after).toBe("on");
    expect(lab.machine.count("on")).toBe(1);
  });

  test("a command lost before it was carried out is repeated once the state has shown that", async () => {
    await using lab = await redfishLab({ power: "off" });
    lab.bmc.fail({ kind: "close-before", method: "POST", path: RESET });

    const report = await lab.client.setPower(on, signal);

    expect(report.after).toBe("on");
    expect(lab.machine.count("on")).toBe(1);
  });

  test("a busy BMC is asked again, after the time it named", async () => {
    await using lab = await redfishLab({ power: "off" });
    lab.bmc.fail({ kind: "refuse", method: "POST", path: RESET, status: 503, retryAfter: "2", times: 2 });

    const report = await lab.client.setPower(on, signal);

    expect(report.after).toBe("on");
    expect(lab.bmc.log.filter((line) => line.startsWith("POST"))).toHaveLength(3);
  });

  test("a refusal keeps the BMC's own words", async () => {
    await using lab = await redfishLab({ power: "off" });
    lab.bmc.fail({
      kind: "refuse",
      method: "POST",
      path: RESET,
      status: 500,
      messageId: "Base.1.8.InternalError",
    });

    await expect(lab.client.setPower(on, signal)).rejects.toMatchObject({
      class: "bmc",
      message: expect.stringContaining("Base.1.8.InternalError"),
    });
    expect(lab.machine.power).toBe("off");
  });
});

describe("off", () => {
  test("hard forces it off and reads off twice in a row", async () => {
    await using lab = await redfishLab({ power: "on" });

    const report = await lab.client.setPower(hardOff, signal);

    expect(report).toMatchObject({ before: "on", after: "off", changed: true });
    expect(report.summary).toMatch(/^off after .*\(forced\)$/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
    expect(lab.bmc.log.slice(-2).every((line) => line.startsWith("GET"))).toBe(true);
  });

  test("a machine that is off is left alone", async () => {
    await using lab = await redfishLab({ power: "off" });

    const report = await lab.client.setPower(softThenHard, signal);

    expect(report).toMatchObject({ changed: false, summary: "already off" });
    expect(lab.machine.commands).toEqual([]);
  });

  test("soft asks the operating system alone", async () => {
    await using lab = await redfishLab({ power: "on" });

    const report = await lab.client.setPower(softOff, signal);

    expect(report.summary).toMatch(/\(graceful\)$/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["soft-off"]);
  });

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

  test("soft-then-hard forces at once where a graceful shutdown is refused, and says why", async () => {
    await using lab = await redfishLab({ power: "on" });
    lab.bmc.fail({
      kind: "refuse",
      method: "POST",
      path: RESET,
      status: 400,
      messageId: "Base.1.8.ActionNotSupported",
    });

    const report = await lab.client.setPower(softThenHard, signal);

    expect(report.summary).toMatch(/\(forced, graceful shutdown not possible: .+\)$/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
  });

  test("a refusal while the machine is on its way off already is success", async () => {
    await using lab = await redfishLab({ power: "on", powerOffMs: 30 }, { profile: "openbmc" });
    lab.machine.do("off");

    const report = await lab.client.setPower(hardOff, signal);

    expect(report.after).toBe("off");
    expect(lab.machine.count("off")).toBe(1);
  });

  test("a refused password is auth and is tried once", async () => {
    await using lab = await redfishLab({ power: "on" }, {}, { password: "wrong" });

    await expect(lab.client.setPower(hardOff, signal)).rejects.toMatchObject({ class: "auth" });
    expect(lab.bmc.refusedCredentials).toBe(1);
    expect(lab.machine.commands).toEqual([]);
  });

  test("an abort in the middle of the wait is cancelled at once", async () => {
    await using lab = await redfishLab({ power: "on", softOffMs: "never" });
    const controller = new AbortController();
    lab.machine.once("command", () => controller.abort(new Error("stop")));

    const powering = lab.client.setPower({ ...softOff, softTimeoutMs: 600_000 }, controller.signal);

    await expect(powering).rejects.toThrow("stop");
  });
});

describe("cycle", () => {
  test("the BMC's own cycle is used and confirmed by the machine being seen off", async () => {
    await using lab = await redfishLab({ power: "on", powerOffMs: 40, cycleOffMs: 60, powerOnMs: 40 });

    const report = await lab.client.setPower(cycle, signal);

    expect(report).toMatchObject({ before: "on", after: "on" });
    expect(report.summary).toMatch(/\(off, then on\)$/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["cycle"]);
  });

  test("a cycle with a duration is made of off, the wait, and on", async () => {
    await using lab = await redfishLab({ power: "on" });

    const report = await lab.client.setPower({ ...cycle, offDurationMs: 5_000 }, signal);

    expect(report.summary).toMatch(/\(off for 5.0 s, then on\)$/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off", "on"]);
    expect(lab.machine.power).toBe("on");
  });

  test("a BMC without a cycle of its own is taken through off and on", async () => {
    await using lab = await redfishLab({ power: "on" }, { profile: "hpe-ilo5" });

    await lab.client.setPower(cycle, signal);

    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off", "on"]);
  });

  test("a machine that is off is powered on, and the result says so", async () => {
    await using lab = await redfishLab({ power: "off" });

    const report = await lab.client.setPower(cycle, signal);

    expect(report.summary).toMatch(/was off, so powered on/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["on"]);
  });

  test("a cycle whose answer was lost is never sent again", async () => {
    await using lab = await redfishLab({ power: "on", powerOffMs: 40, cycleOffMs: 60, powerOnMs: 40 });
    lab.bmc.fail({ kind: "close-after", method: "POST", path: RESET });

    const report = await lab.client.setPower(cycle, signal);

    expect(report.after).toBe("on");
    expect(lab.machine.count("cycle")).toBe(1);
  });

  test("a cycle that was lost on the way is an error that says it was not sent again", async () => {
    await using lab = await redfishLab({ power: "on" });
    lab.bmc.fail({ kind: "close-before", method: "POST", path: RESET });

    await expect(lab.client.setPower(cycle, signal)).rejects.toMatchObject({
      class: "timeout",
      message: /not sent again/,
    });
    expect(lab.machine.commands).toEqual([]);
  });
});

describe("reset", () => {
  test("a machine that is on is reset once and stays on", async () => {
    await using lab = await redfishLab({ power: "on" });

    const report = await lab.client.setPower(reset, signal);

    expect(report.summary).toMatch(/^reset, on after/);
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["reset"]);
  });

  test("a machine that is off is an error of class state", async () => {
    await using lab = await redfishLab({ power: "off" });

    await expect(lab.client.setPower(reset, signal)).rejects.toMatchObject({ class: "state" });
    expect(lab.machine.commands).toEqual([]);
  });

  test("with ON_IF_OFF a machine that is off is powered on", async () => {
    await using lab = await redfishLab({ power: "off" });

    const report = await lab.client.setPower({ ...reset, onIfOff: true }, signal);

    expect(report.after).toBe("on");
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["on"]);
  });

  test("a reset whose answer was lost is not sent again", async () => {
    await using lab = await redfishLab({ power: "on" });
    lab.bmc.fail({ kind: "close-after", method: "POST", path: RESET });

    await expect(lab.client.setPower(reset, signal)).rejects.toThrow(/not sent again/);
    expect(lab.machine.count("reset")).toBe(1);
  });
});

describe("a plan", () => {
  test.each([
    [softThenHard, "on", [/GracefulShutdown/, /^if still on after 10.0 s: .*ForceOff/]],
    [hardOff, "on", [/ForceOff/]],
    [hardOff, "off", []],
    [on, "off", [/"On"/]],
    [cycle, "on", [/PowerCycle/]],
    [reset, "on", [/ForceRestart/]],
  ] as const)(
    "of %j on a machine that is %s names what would be sent and sends nothing",
    async (request, power, steps) => {
      await using lab = await redfishLab({ power });

      const plan = await lab.client.planPower(request, signal);

      expect(plan.before).toBe(power);
      expect(plan.steps).toHaveLength(steps.length);
      steps.forEach((step, index) => {
        expect(plan.steps[index]).toMatch(step);
      });
      expect(lab.bmc.log.filter((line) => !line.startsWith("GET"))).toEqual([]);
    },
  );
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

test("a whole power-off takes one TCP connection", async () => {
  await using lab = await redfishLab({ power: "on" });

  await lab.client.setPower(softThenHard, signal);

  expect(lab.bmc.connections).toBe(1);
});
