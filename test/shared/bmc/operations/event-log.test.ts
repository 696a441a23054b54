import { describe, expect, test } from "vitest";
import type { SelEntry } from "../../../../shared/bmc/operations/sel.ts";
import { clearSel, planClearSel } from "../../../../shared/bmc/operations/sel.ts";

const AT = "2026-01-15T18:53:25.000Z";
const entry = (message: string, at?: string): SelEntry => ({ id: "1", message, ...(at ? { at } : {}) });
const fan = entry("Fan 1 is slow.", AT);
const door = entry("Door opened.");
const cleared = entry("event logging sensor 0xf0: log cleared");

/** A log that reads so in turn, the last of it for ever, and what was done to it. */
function logThatReads(...readings: readonly [readonly SelEntry[], ...(readonly SelEntry[])[]]) {
  const left = [...readings];
  const log = {
    clearings: 0,
    sleptMs: 0,
    list: async () => (left.length > 1 ? left.shift() : left[0]) ?? [],
    plan: async () => "Clear SEL",
    async clear() {
      log.clearings += 1;
    },
    progress: () => undefined,
    async sleep(ms: number) {
      log.sleptMs += ms;
    },
  };
  return log;
}

describe("clearing the event log", () => {
  test.each<[string, readonly SelEntry[]]>([
    ["is empty", []],
    ["holds only that it was cleared", [cleared]],
    ["holds what came since", [entry("Fan 2 is slow.", AT)]],
    ["holds both", [cleared, entry("Fan 2 is slow.", AT)]],
    ["holds the same event at another time", [entry("Fan 1 is slow.", "2026-01-15T19:00:00.000Z")]],
  ])("is done when the log %s", async (_, after) => {
    const log = logThatReads([cleared, fan, door], after);

    expect(await clearSel(log)).toEqual({ changed: true, summary: "event log cleared of 3 entries" });
    expect(log.clearings).toBe(1);
  });

  test("is done when the entries go some seconds after the answer", async () => {
    const log = logThatReads([fan], [fan], [fan], [fan], []);

    expect(await clearSel(log)).toEqual({ changed: true, summary: "event log cleared of 1 entry" });
    expect(log).toMatchObject({ clearings: 1, sleptMs: 5_000 });
  });

  test.each<[string, readonly SelEntry[], readonly SelEntry[], string]>([
    ["all", [fan, door], [fan, door], "2 of its 2 entries"],
    ["some, beside one about the clearing", [fan, door], [cleared, door], "1 of its 2 entries"],
    ["several that it was cleared", [cleared, cleared], [cleared, cleared], "1 of its 2 entries"],
  ])("is a verification failure when the log keeps %s", async (_, before, after, counted) => {
    const log = logThatReads(before, after);

    await expect(clearSel(log)).rejects.toMatchObject({
      class: "verify",
      message: `the BMC accepted the clearing of its event log and still has ${counted}`,
    });
    expect(log.clearings).toBe(1);
  });

  test.each([
    ["event logging sensor 0xf0: log cleared"],
    ["The System Event Log (SEL) was cleared."],
    ["IML Cleared (iLO user: admin)"],
    ["Log cleared by root"],
    ["SEL cleared"],
  ])("is not needed where the only entry is %j", async (message) => {
    const log = logThatReads([entry(message, AT)]);

    expect(await clearSel(log)).toMatchObject({ changed: false });
    expect(await planClearSel(log)).toEqual({ before: 1, steps: [] });
    expect(log.clearings).toBe(0);
  });

  test.each([
    ["Alarm cleared: PSU 1 failed"],
    ["Login from 192.0.2.1; fault was cleared"],
    ["The log is full"],
  ])("is needed where the only entry is %j", async (message) => {
    const log = logThatReads([entry(message, AT)], []);

    expect(await planClearSel(log)).toEqual({ before: 1, steps: ["Clear SEL"] });
  });
});
