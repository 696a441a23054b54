import { expect, test } from "vitest";
import { waitForPower } from "../../../../shared/bmc/operations/power.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { machineThatReads } from "./machine-that-reads.ts";

const silence = new BmcError("unreachable", "connection refused");
const refusal = new BmcError("auth", "the BMC refuses the password");

test("off counts when it is read twice in a row, on when it is read once", async () => {
  const runningDown = machineThatReads(["on", "off", "on", "off", "unknown", "off", "off"]);
  const comingUp = machineThatReads(["off", "unknown", "on"]);

  const off = await waitForPower(runningDown, "off", 600_000);
  const on = await waitForPower(comingUp, "on", 600_000);

  expect([off.after, runningDown.reads()]).toEqual(["off", 7]);
  expect([on.after, comingUp.reads()]).toEqual(["on", 3]);
});

test("readings come at growing intervals, and sooner again when the state has changed", async () => {
  const machine = machineThatReads(["on", "on", "on", "on", "off", "off"]);

  const report = await waitForPower(machine, "off", 60_000);

  expect(machine.tookMs()).toBe(500 + 750 + 1_125 + 500);
  expect(report.summary).toBe("off after 2.9 s");
});

test.each(["on", "off"] as const)("a machine that is %s all along is there already", async (state) => {
  const report = await waitForPower(machineThatReads([state]), state, 60_000);

  expect(report).toEqual({ before: state, after: state, changed: false, summary: `already ${state}` });
});

test("a machine that left the state and returned is not reported as already there", async () => {
  const report = await waitForPower(machineThatReads(["off", "on", "off", "off"]), "off", 60_000);

  expect(report).toMatchObject({ before: "off", after: "off" });
  expect(report.summary).toMatch(/^off after \d/);
});

test("silence on the way is not the end", async () => {
  const machine = machineThatReads(["on", silence, silence, silence, "off", "off"]);

  const report = await waitForPower(machine, "off", 60_000);

  expect(report.after).toBe("off");
});

test("silence to the end is reported as what it is", async () => {
  const waiting = waitForPower(machineThatReads(["on", silence]), "off", 60_000);

  await expect(waiting).rejects.toBe(silence);
});

test("a refused password ends the wait at once", async () => {
  const machine = machineThatReads(["on", refusal, "off", "off"]);

  await expect(waitForPower(machine, "off", 60_000)).rejects.toBe(refusal);
  expect(machine.reads()).toBe(2);
});

test("a machine that is not there in time is a timeout that says what it was at first", async () => {
  const waiting = waitForPower(machineThatReads(["on", "unknown"]), "off", 60_000);

  await expect(waiting).rejects.toMatchObject({
    class: "timeout",
    message: "not off after 1m 0s, it was on at first: the BMC reports no power state",
  });
});
