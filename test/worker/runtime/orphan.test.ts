import { describe, expect, it } from "vitest";
import type { ActionResult } from "../../../shared/contract/result.ts";
import { inputTruncated, isOrphan, type OwnerLabels } from "../../../worker/runtime/orphan.ts";

const DEADLINE = "2030-01-02T03:00:00.000Z";
const HOUR_MS = 60 * 60_000;
const atDeadline = Date.parse(DEADLINE);

function leftover(
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

describe("what is left over", () => {
  it("is what this worker's state directory launched and nobody wants to keep, at any time", () => {
    expect(leftover({ state: "mine" }, { afterMs: -HOUR_MS })).toBe(true);
    expect(leftover({ state: "mine" }, { kept: "k1", afterMs: 24 * HOUR_MS })).toBe(false);
  });

  it("is what nobody knows whether it is needed only when it is more than an hour past its time", () => {
    const at = (afterMs: number) =>
      isOrphan(
        { state: "mine", key: "k1", deadline: DEADLINE },
        { state: "mine", keep: () => "until-overdue", nowMs: atDeadline + afterMs },
      );

    expect([at(-HOUR_MS), at(HOUR_MS), at(HOUR_MS + 1)]).toEqual([false, false, true]);
  });

  it("is another worker's only when it is more than an hour past its time", () => {
    expect(leftover({ state: "other" }, { afterMs: HOUR_MS })).toBe(false);
    expect(leftover({ state: "other" }, { afterMs: HOUR_MS + 1 })).toBe(true);
    expect(leftover({}, { afterMs: HOUR_MS })).toBe(false);
    expect(leftover({}, { afterMs: HOUR_MS + 1 })).toBe(true);
  });

  it("is for a worker without a state only what is more than an hour past its time, whoever kept no state either", () => {
    expect(leftover({}, { state: undefined })).toBe(false);
    expect(leftover({ state: "other" }, { state: undefined })).toBe(false);
    expect(leftover({}, { state: undefined, afterMs: HOUR_MS + 1 })).toBe(true);
  });

  it("goes by the time since the machine started, as long as that is the same start, whatever the wall clock says", () => {
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

  it("is never what bears no whole mark", () => {
    const late = { afterMs: 24 * HOUR_MS };

    expect(leftover({ state: "mine", key: undefined }, late)).toBe(false);
    expect(leftover({ state: "mine", deadline: undefined }, late)).toBe(false);
    expect(leftover({ state: "mine", deadline: "soon" }, late)).toBe(false);
  });
});

describe("input that broke off", () => {
  const result: ActionResult = {
    ...{ action: "power-cycle", ok: false, class: "usage", message: "no connection" },
    ...{ durationMs: 0, roundTrips: 0 },
  };

  it("is what an action that waited for its connection calls wrong use, before anything was sent", () => {
    expect(inputTruncated(true, result)).toBe(true);
    expect(inputTruncated(false, result)).toBe(false);
    expect(inputTruncated(true, { ...result, roundTrips: 1 })).toBe(false);
    expect(inputTruncated(true, { ...result, class: "auth" })).toBe(false);
    expect(inputTruncated(true, { ...result, ok: true, class: undefined })).toBe(false);
    expect(inputTruncated(true, undefined)).toBe(false);
  });
});
