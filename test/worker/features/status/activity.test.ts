import { describe, expect, test } from "vitest";
import { Activity } from "../../../../worker/features/status/board/activity.ts";
import { statusClock } from "./status-lab.ts";

const MINUTE_MS = 60_000;

describe("the last hour", () => {
  test("has sixty minutes, also where nothing happened, and a queue that lasts", () => {
    const clock = statusClock();
    const activity = new Activity(clock);
    activity.ended(true);
    activity.queue(5);
    activity.queue(3);
    clock.pass(2 * MINUTE_MS);
    activity.ended(false);
    activity.queue(0);
    clock.pass(MINUTE_MS);

    const minutes = activity.minutes();

    expect(minutes).toHaveLength(60);
    expect(minutes.slice(-5)).toMatchObject([
      { succeeded: 0, failed: 0, waiting: 0 },
      { succeeded: 1, failed: 0, waiting: 5 },
      { succeeded: 0, failed: 0, waiting: 3 },
      { succeeded: 0, failed: 1, waiting: 3 },
      { succeeded: 0, failed: 0, waiting: 0 },
    ]);
  });

  test("forgets what is older, but not the queue that is left of it", () => {
    const clock = statusClock();
    const activity = new Activity(clock);
    activity.queue(7);
    for (let minute = 0; minute < 200; minute += 1) {
      activity.ended(true);
      clock.pass(MINUTE_MS);
    }
    clock.pass(90 * MINUTE_MS);

    expect(activity.minutes()).toMatchObject(
      Array.from({ length: 60 }, () => ({ succeeded: 0, failed: 0, waiting: 7 })),
    );
  });

  test("is restored by the wall clock, without what lies in the future", () => {
    const before = statusClock();
    const first = new Activity(before);
    first.ended(true);
    before.pass(3 * MINUTE_MS);
    first.queue(4);
    const clock = statusClock();
    clock.pass(13 * MINUTE_MS);
    const second = new Activity(clock);

    second.restore([
      ...first.minutes(),
      { at: new Date(clock.now() + 600_000), succeeded: 9, failed: 9, waiting: 9 },
    ]);

    const minutes = second.minutes();
    expect(minutes.at(-14)).toMatchObject({ succeeded: 1 });
    expect(minutes.at(-11)).toMatchObject({ waiting: 4 });
    expect(minutes.at(-1)).toMatchObject({ succeeded: 0, failed: 0, waiting: 0 });
  });
});
