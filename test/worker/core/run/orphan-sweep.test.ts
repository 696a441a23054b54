import { describe, expect, it, onTestFinished } from "vitest";
import type { LogFields } from "../../../../shared/logger.ts";
import type { Runtime } from "../../../../worker/core/ports/runtime.ts";
import { OrphanSweep } from "../../../../worker/core/run/orphan-sweep.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

const HOUR_MS = 60 * 60_000;

/** A sweep that runs; `results` are those of the runtime's sweeps, the last one for all others. */
function lab(...results: readonly (number | Error)[]) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const at: number[] = [];
  const logged: { readonly fields: LogFields; readonly message: string }[] = [];
  const say = (fields: LogFields, message: string) => void logged.push({ fields, message });
  const runtime: Pick<Runtime, "sweep"> = {
    sweep: async () => {
      const result = results[Math.min(at.length, results.length - 1)] ?? 0;
      at.push(clock.monotonicMs());
      if (result instanceof Error) throw result;
      return result;
    },
  };
  const log = { debug: say, info: say, warn: say, error: say };
  const sweep = new OrphanSweep({ runtime: runtime as Runtime, isNeeded: () => false, clock, log });
  const run = sweep.run(stop.signal);
  onTestFinished(async () => {
    stop.abort(new Error("over"));
    await run;
  });
  const swept = (times: number) => clock.until(() => at.length >= times, 10 * HOUR_MS);
  return { sweep, at, logged, clock, swept, stop };
}

describe("the orphan sweep", () => {
  it("is repeated hourly, and says what it removed", async () => {
    const { at, logged, swept } = lab(2, 0);

    await swept(3);

    expect(at).toEqual([0, HOUR_MS, 2 * HOUR_MS]);
    expect(logged).toEqual([{ fields: { removed: 2 }, message: "orphans of earlier workers removed" }]);
  });

  it("is retried soon while it fails, with one warning, and is done after the first success", async () => {
    const away = new Error("the engine is away");
    const { sweep, at, logged, clock, swept } = lab(away, away, away, 0);
    let isDone = false;
    void sweep.done.then(() => {
      isDone = true;
    });

    await swept(3);
    const before = isDone;
    await clock.until(() => isDone, HOUR_MS);

    expect(before).toBe(false);
    expect(at).toHaveLength(4);
    expect(at[3]).toBeLessThan(10_000);
    expect(logged).toEqual([
      { fields: { error: "the engine is away" }, message: "orphan sweep failed, retrying" },
    ]);
  });

  it("is done when the worker stops before a success, without another warning", async () => {
    const { sweep, logged, swept, stop } = lab(new Error("the engine is away"));
    await swept(1);

    stop.abort(new Error("the worker stops"));
    await sweep.done;

    expect(logged).toHaveLength(1);
  });

  it("removes what could not be removed after 10 s, whatever else fails, and once", async () => {
    const { sweep, at, swept } = lab(0);
    await swept(1);
    const removed: string[] = [];
    const remove = (name: string, failures: number) => {
      let left = failures;
      return async () => {
        removed.push(name);
        if (left-- > 0) throw new Error("not now");
      };
    };

    sweep.add(remove("one", 1));
    sweep.add(remove("other", 0));
    await swept(3);

    expect(at[1]).toBe(10_000);
    expect((at[2] ?? 0) - 10_000).toBeLessThan(2_000);
    expect(removed).toEqual(["one", "other", "one"]);
  });

  it("remembers the newest thousand that could not be removed", async () => {
    const { sweep, swept } = lab(0);
    await swept(1);
    const removed: number[] = [];

    for (let n = 0; n <= 1_000; n += 1) sweep.add(async () => void removed.push(n));
    await swept(2);
    await swept(3);

    expect(removed).toEqual(Array.from({ length: 1_000 }, (_, n) => n + 1));
  });
});
