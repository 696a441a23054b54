import { describe, expect, it } from "vitest";
import type { Clock } from "../../../../shared/clock.ts";
import { ServerLoad } from "../../../../worker/core/lanes/server-load.ts";

/** A clock that moves only with `forward`. */
class HandClock implements Clock {
  #nowMs = 0;
  sleeps = 0;
  readonly #sleepers = new Set<{ readonly untilMs: number; readonly wake: () => void }>();

  now = () => this.#nowMs;
  monotonicMs = () => this.#nowMs;

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeps += 1;
    return new Promise((resolve, reject) => {
      this.#sleepers.add({ untilMs: this.#nowMs + ms, wake: resolve });
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  async forward(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    while (this.#nowMs < endMs) {
      this.#nowMs += 10;
      for (const sleeper of this.#sleepers) {
        if (sleeper.untilMs > this.#nowMs) continue;
        this.#sleepers.delete(sleeper);
        sleeper.wake();
      }
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    }
  }
}

function watched(held: Promise<void>): { readonly isHeld: () => boolean } {
  let isHeld = false;
  void held.then(
    () => {
      isHeld = true;
    },
    () => undefined,
  );
  return { isHeld: () => isHeld };
}

const unanswered = () => new AbortController().signal;

describe("the load of a server", () => {
  it("a single poll is held when nothing was answered for its time", async () => {
    const clock = new HandClock();
    const load = new ServerLoad(clock);
    const { isHeld } = watched(load.held(clock.monotonicMs(), 100, unanswered()));

    await clock.forward(90);
    expect(isHeld()).toBe(false);
    await clock.forward(120);
    expect(isHeld()).toBe(true);
  });

  it("a thousand queued polls are not held while the server answers them one after the other", async () => {
    const clock = new HandClock();
    const load = new ServerLoad(clock);
    const sent = clock.monotonicMs();
    const last = watched(load.held(sent, 100, unanswered()));

    for (let answered = 0; answered < 50; answered += 1) {
      await clock.forward(50);
      load.answered(sent);
    }

    expect(last.isHeld()).toBe(false);
  });

  it("thousands of polls that the server holds cost less and less", async () => {
    const clock = new HandClock();
    const load = new ServerLoad(clock);
    for (let sent = 0; sent < 1_000; sent += 1) watched(load.held(clock.monotonicMs(), 100, unanswered()));

    await clock.forward(2_000);
    const first = clock.sleeps;
    await clock.forward(8_000);

    expect(first).toBeLessThan(13_000);
    expect(clock.sleeps - first).toBeLessThanOrEqual(3_000);
  });

  it("many polls get more time than one before the first answer", async () => {
    const clock = new HandClock();
    const load = new ServerLoad(clock);
    const all = Array.from({ length: 51 }, () => watched(load.held(clock.monotonicMs(), 100, unanswered())));

    await clock.forward(500);
    expect(all.filter(({ isHeld }) => isHeld())).toHaveLength(0);
    await clock.forward(300);
    expect(all.filter(({ isHeld }) => isHeld())).toHaveLength(51);
  });

  it("a thousand polls are not held when the server retries by itself before it could answer them", async () => {
    const clock = new HandClock();
    const load = new ServerLoad(clock);
    const all = Array.from({ length: 1_000 }, () =>
      watched(load.held(clock.monotonicMs(), 100, unanswered())),
    );

    await clock.forward(1_500);

    expect(all.filter(({ isHeld }) => isHeld())).toHaveLength(0);
  });

  it("a poll is held when one that was sent later has been answered", async () => {
    const clock = new HandClock();
    const load = new ServerLoad(clock);
    const first = watched(load.held(clock.monotonicMs(), 100, unanswered()));

    for (let poll = 0; poll < 5; poll += 1) {
      await clock.forward(40);
      load.answered(clock.monotonicMs());
    }
    await clock.forward(100);

    expect(first.isHeld()).toBe(true);
  });

  it("a poll is not held while a busy server takes as long for every answer", async () => {
    const clock = new HandClock();
    const load = new ServerLoad(clock);
    const first = watched(load.held(clock.monotonicMs(), 100, unanswered()));

    await clock.forward(90);
    for (let sent = 0; sent < 8; sent += 1) load.answered(sent);
    await clock.forward(300);

    expect(first.isHeld()).toBe(false);
    await clock.forward(200);
    expect(first.isHeld()).toBe(true);
  });

  it("stops when its poll has been answered", async () => {
    const load = new ServerLoad(new HandClock());
    const answered = new AbortController();
    const held = load.held(0, 100, answered.signal);

    answered.abort(new Error("answered"));

    await expect(held).rejects.toThrow("answered");
  });
});
