import { describe, expect, it } from "vitest";
import { type FoundEvent, knownTime, selectEvents } from "../../../../shared/bmc/operations/power-events.ts";

const HOUR_MS = 3_600_000;
const ALL = { windowMs: 0, limit: 0 };

const at = (clock: string) => `2026-01-15T${clock}.000Z`;
const event = (clock: string | undefined, message: string, more: Partial<FoundEvent> = {}): FoundEvent => ({
  ...(clock !== undefined && { time: at(clock) }),
  kind: "power",
  message,
  source: "SEL",
  ...more,
});
const reset = (clock: string | undefined, message = "hard reset", more: Partial<FoundEvent> = {}) =>
  event(clock, message, { kind: "reset", proves: "restart", ...more });
const booted = (clock: string) => event(clock, "boot completed", { kind: "boot", proves: "boot" });
const messages = (events: readonly { readonly message: string }[]) => events.map(({ message }) => message);

describe("the last restart", () => {
  it("is what the BMC reports, even if the log has a later entry", () => {
    const reported = { time: at("12:00:00"), cause: "watchdog expired", source: "LastResetTime" };

    const { lastReset } = selectEvents(reported, [[reset("13:00:00", "reset by: admin")]], ALL);

    expect(lastReset).toEqual(reported);
  });

  it("is the newest restart of any log where the BMC reports none", () => {
    const logs = [
      [reset("12:00:00"), event("14:00:00", "power supply lost")],
      [reset("13:00:00", "b", { source: "IEL" })],
    ];

    expect(selectEvents(undefined, logs, ALL).lastReset).toEqual({ time: at("13:00:00"), source: "IEL" });
  });

  it("is when the restart began and not when the system had booted, unless only the boot was logged", () => {
    const log = [reset("12:00:00"), booted("12:04:00")];
    const later = [...log, booted("18:00:00")];

    expect(selectEvents(undefined, [log], ALL).lastReset?.time).toBe(at("12:00:00"));
    expect(selectEvents(undefined, [later], ALL).lastReset?.time).toBe(at("18:00:00"));
  });

  it("has the cause that the log names around it if the BMC does not know one: a watchdog before a person", () => {
    const unknown = { cause: "unknown cause", source: "Get System Restart Cause" };
    const asked = reset("11:59:00", "reset by: admin");
    const watchdog = event("11:58:00", "hard reset", { kind: "watchdog", severity: "critical" });
    const longAgo = reset("09:00:00", "reset by: eve");
    const last = reset("12:00:00", "Server reset.");

    const cause = (...log: FoundEvent[]) => selectEvents(unknown, [[...log, last]], ALL).lastReset;

    expect(cause(longAgo, asked)).toEqual({
      time: at("12:00:00"),
      cause: "reset by: admin",
      source: "Get System Restart Cause, SEL",
    });
    expect(cause(watchdog, asked)?.cause).toBe("hard reset");
    expect(cause(longAgo)?.cause).toBe("unknown cause");
  });

  it("is absent if neither the BMC nor a log tells of it", () => {
    expect(
      selectEvents(undefined, [[event("12:00:00", "power supply lost")]], ALL).lastReset,
    ).toBeUndefined();
  });
});

describe("the events around it", () => {
  const log = [
    event("08:00:00", "a"),
    event("11:30:00", "b"),
    reset("12:00:00", "c"),
    event("12:20:00", "d"),
  ];

  it("are those of all logs within the window, oldest first", () => {
    const other = [event("11:45:00", "x", { source: "IEL" }), event("20:00:00", "y", { source: "IEL" })];

    const { events, total } = selectEvents(undefined, [log, other], { windowMs: HOUR_MS, limit: 0 });

    expect(messages(events)).toEqual(["b", "x", "c", "d"]);
    expect(total).toBe(6);
  });

  it("are cut to those next to it", () => {
    expect(messages(selectEvents(undefined, [log], { windowMs: 0, limit: 2 }).events)).toEqual(["c", "d"]);
  });

  it("are the newest if the restart is not known", () => {
    const unknown = log.filter(({ kind }) => kind === "power");

    expect(messages(selectEvents(undefined, [unknown], { windowMs: HOUR_MS, limit: 2 }).events)).toEqual([
      "b",
      "d",
    ]);
  });

  it("have an entry without a time at the place of the entry after it", () => {
    const lost = event(undefined, "AC lost (12 s after the BMC started)");
    const early = event(undefined, "long ago");
    const untimed = [early, event("01:00:00", "a"), lost, reset("12:00:00", "c"), event(undefined, "last")];

    const { events } = selectEvents(undefined, [untimed], { windowMs: HOUR_MS, limit: 0 });

    expect(messages(events)).toEqual([lost.message, "c", "last"]);
    expect(events[0]).not.toHaveProperty("time");
  });

  it("have an entry once that two logs show, and twice what happened twice", () => {
    const twice = [event("12:00:00", "a"), event("12:00:00", "a")];

    const { events } = selectEvents(
      undefined,
      [twice, [event("12:00:00", "a", { source: "EventLog" })]],
      ALL,
    );

    expect(events.map(({ source }) => source)).toEqual(["SEL", "SEL"]);
  });
});

it("the time of a clock that was not set is no time", () => {
  expect(knownTime(0)).toBeUndefined();
  expect(knownTime(Number.NaN)).toBeUndefined();
  expect(knownTime(Date.parse("2001-11-03T04:54:53Z"))).toBeUndefined();
  expect(knownTime(Date.parse("2026-01-15T18:53:25+02:00"))).toBe("2026-01-15T16:53:25.000Z");
});
