import { describe, expect, it } from "vitest";
import type { ActionResult } from "../../../shared/contract/result.ts";
import { inputTruncated, isOrphan, type OwnerLabels } from "../../../worker/runtimes/orphan.ts";

const DEADLINE = "2030-01-02T03:00:00.000Z";
const HOUR_MS = 60 * 60_000;
const atDeadline = Date.parse(DEADLINE);

function orphaned(
  mark: OwnerLabels,
  more: { readonly state?: string | undefined; readonly afterMs?: number; readonly kept?: string } = {},
) {
  const { afterMs = 0, kept } = more;
  return isOrphan(
    { key: "k1", deadline: DEADLINE, ...mark },
    {
      state: "state" in more ? more.state : "mine",
      keep: (key) => key === kept,
      nowMs: atDeadline + afterMs,
    },
  );
}

describe("an orphan", () => {
  it("is what this worker's state directory launched and no longer needs, at any time", () => {
    expect(orphaned({ state: "mine" }, { afterMs: -HOUR_MS })).toBe(true);
    expect(orphaned({ state: "mine" }, { kept: "k1", afterMs: 24 * HOUR_MS })).toBe(false);
  });

  it("is what still runs of an action whose end is on record; what has ended is kept until the end is reported", () => {
    const labels = { state: "mine", key: "k1", deadline: DEADLINE };
    const options = { state: "mine", keep: () => "once-ended" as const, nowMs: atDeadline };

    expect([isOrphan(labels, options, false), isOrphan(labels, options, true)]).toEqual([true, false]);
  });

  it("is what may be needed only an hour after its deadline", () => {
    const at = (afterMs: number) =>
      isOrphan(
        { state: "mine", key: "k1", deadline: DEADLINE },
        { state: "mine", keep: () => "until-overdue", nowMs: atDeadline + afterMs },
      );

    expect([at(-HOUR_MS), at(HOUR_MS), at(HOUR_MS + 1)]).toEqual([false, false, true]);
  });

  it("is another worker's only an hour after its deadline", () => {
    expect(orphaned({ state: "other" }, { afterMs: HOUR_MS })).toBe(false);
    expect(orphaned({ state: "other" }, { afterMs: HOUR_MS + 1 })).toBe(true);
    expect(orphaned({}, { afterMs: HOUR_MS })).toBe(false);
    expect(orphaned({}, { afterMs: HOUR_MS + 1 })).toBe(true);
  });

  it("is what has ended only a week after its deadline, because it may be the only record of its end", () => {
    const at = (afterMs: number) =>
      isOrphan(
        { state: "other", key: "k1", deadline: DEADLINE },
        { state: "mine", keep: () => false, nowMs: atDeadline + afterMs },
        true,
      );

    expect([at(7 * 24 * HOUR_MS), at(7 * 24 * HOUR_MS + 1)]).toEqual([false, true]);
  });

  it("is, for a worker without state, only what is an hour past its deadline", () => {
    expect(orphaned({}, { state: undefined })).toBe(false);
    expect(orphaned({ state: "other" }, { state: undefined })).toBe(false);
    expect(orphaned({}, { state: undefined, afterMs: HOUR_MS + 1 })).toBe(true);
  });

  it("is decided by the time since boot, unless the host rebooted, and not by the wall clock", () => {
    const boot = "11111111-2222-3333-4444-555555555555";
    const deadlineBootTime = `${boot}+5000`;
    const at = (ms: number, wallMs: number, start = boot) =>
      isOrphan(
        { state: "other", key: "k1", deadline: DEADLINE, deadlineBootTime },
        {
          state: "mine",
          keep: () => false,
          nowMs: atDeadline + wallMs,
          bootTime: { boot: start, ms },
        },
      );

    expect(at(5_000 + HOUR_MS, 24 * HOUR_MS)).toBe(false);
    expect(at(5_001 + HOUR_MS, -24 * HOUR_MS)).toBe(true);
    expect(at(0, 24 * HOUR_MS, "99999999-2222-3333-4444-555555555555")).toBe(true);
    expect(at(9 * HOUR_MS, 0, "99999999-2222-3333-4444-555555555555")).toBe(false);
  });

  it("is never what has incomplete labels", () => {
    const late = { afterMs: 24 * HOUR_MS };

    expect(orphaned({ state: "mine", key: undefined }, late)).toBe(false);
    expect(orphaned({ state: "mine", deadline: undefined }, late)).toBe(false);
    expect(orphaned({ state: "mine", deadline: "soon" }, late)).toBe(false);
  });
});

describe("truncated input", () => {
  const result: ActionResult = {
    ...{ action: "power-cycle", ok: false, class: "usage", message: "no connection" },
    ...{ durationMs: 0, roundTrips: 0 },
  };

  it("is a usage error of an action that waited for its connection and sent nothing", () => {
    expect(inputTruncated(true, result)).toBe(true);
    expect(inputTruncated(false, result)).toBe(false);
    expect(inputTruncated(true, { ...result, roundTrips: 1 })).toBe(false);
    expect(inputTruncated(true, { ...result, class: "auth" })).toBe(false);
    expect(inputTruncated(true, { ...result, ok: true, class: undefined })).toBe(false);
    expect(inputTruncated(true, undefined)).toBe(false);
  });
});
