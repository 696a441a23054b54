import { describe, expect, it } from "vitest";
import {
  type LimitedStart,
  type StartLimit,
  StartLimits,
} from "../../../../worker/core/queue/start-limits.ts";
import { SetClock } from "../../../support/set-clock.ts";

const rack = (name: string, about: Partial<StartLimit>): StartLimit => ({ key: name, of: name, ...about });
const never = new AbortController().signal;

/** Asks for starts, and says which ones have begun. */
function labOf() {
  const clock = new SetClock("2026-11-21T03:00:00Z");
  const limits = new StartLimits(clock);
  const begun: string[] = [];
  const held = new Map<string, LimitedStart>();
  const waits: string[] = [];
  const ask = (name: string, of: readonly StartLimit[], signal = never) => {
    const start = limits
      .acquire(of, signal, (limit) => waits.push(`${name}: ${limit}`))
      .then((one) => {
        begun.push(name);
        held.set(name, one);
      });
    start.catch(() => undefined);
    return start;
  };
  const settle = async () => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  };
  const pass = async (ms: number) => {
    clock.pass(ms);
    await settle();
  };
  return { clock, limits, begun, held, waits, ask, settle, pass };
}

describe("limits of what begins", () => {
  it("let so many run at once, the next ones in the order of arrival", async () => {
    const { ask, begun, held, settle, waits } = labOf();
    for (const name of ["a", "b", "c", "d"]) ask(name, [rack("rack=r1", { atOnce: 2 })]);
    ask("other", [rack("rack=r2", { atOnce: 2 })]);
    await settle();
    expect(begun).toEqual(["a", "b", "other"]);
    expect(waits).toContain("c: the limit of rack=r1 (2 at once)");

    held.get("b")?.release();
    held.get("b")?.release();
    await settle();

    expect(begun).toEqual(["a", "b", "other", "c"]);
  });

  it("keep the time between two starts, from when an action really starts", async () => {
    const { ask, begun, held, pass, settle } = labOf();
    for (const name of ["a", "b", "c"]) ask(name, [rack("rack=r1", { everyMs: 5_000 })]);
    await pass(60_000);
    expect(begun).toEqual(["a"]);

    held.get("a")?.started();
    await pass(4_999);
    expect(begun).toEqual(["a"]);
    await pass(1);
    expect(begun).toEqual(["a", "b"]);
    // It does not start after all: the next one need not wait for it.
    held.get("b")?.release();
    await settle();
    expect(begun).toEqual(["a", "b", "c"]);
  });

  it("hold all together, and let nothing overtake within a limit", async () => {
    const { ask, begun, held, settle } = labOf();
    const [one, two] = [rack("rack=r1", { atOnce: 1 }), rack("row=b", { atOnce: 1 })];
    ask("a", [one]);
    ask("b", [one, two]);
    ask("c", [two]);
    await settle();
    expect(begun).toEqual(["a"]);

    held.get("a")?.release();
    await settle();
    expect(begun).toEqual(["a", "b"]);
    held.get("b")?.release();
    await settle();
    expect(begun).toEqual(["a", "b", "c"]);
  });

  it("count what already runs, and forget who stops waiting", async () => {
    const { ask, begun, limits, settle } = labOf();
    const limit = rack("rack=r1", { atOnce: 1 });
    const running = limits.running([limit]);
    const stop = new AbortController();
    const stopped = ask("a", [limit], stop.signal);
    ask("b", [limit]);
    stop.abort(new Error("stopped"));

    await expect(stopped).rejects.toThrow("stopped");
    expect(begun).toEqual([]);
    running.release();
    await settle();
    expect(begun).toEqual(["b"]);
  });
});
