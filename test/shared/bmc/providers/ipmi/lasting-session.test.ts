import { describe, expect, it } from "vitest";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { AS_ADMINISTRATOR, eventually, limit, openSession, startBmc } from "./bench.ts";

/** Long enough that a test which waits it out fails. */
const PATIENT = { requestTimeoutMs: 50_000, connectTimeoutMs: 20_000 };

/** Twice as fast as the real one: silence is 3.5 s. */
const brisk = () => scaledClock(2);

describe.concurrent("a session that the BMC has forgotten", () => {
  it("is replaced long before the request's time expires, and the read answered", async () => {
    await using bmc = await startBmc();
    const clock = brisk();
    await using session = await openSession(bmc, { clock, overrides: PATIENT });
    await session.power.read(limit());
    const startedMs = clock.monotonicMs();
    bmc.restart();

    expect(await session.power.read(limit())).toBe("off");

    expect(clock.monotonicMs() - startedMs).toBeLessThan(24_000);
    expect(bmc.sessions()).toBe(1);
  });

  it("leaves it to the state whether a lost write is sent again, which then works", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock: brisk(), overrides: PATIENT });
    await session.boot.read(limit());
    bmc.restart();

    await expect(session.power.send("on", limit())).rejects.toMatchObject({
      class: "timeout",
      uncertain: true,
    });
    const lost = bmc.machine.count("on");
    await session.power.send("on", limit());

    expect([lost, bmc.machine.count("on")]).toEqual([0, 1]);
  });

  it("is a time-out at once for what must not be repeated, and the next call works", async () => {
    await using bmc = await startBmc({ machine: { power: "on" } });
    const clock = brisk();
    await using session = await openSession(bmc, { clock, overrides: PATIENT });
    await session.power.read(limit());
    bmc.restart();
    const startedMs = clock.monotonicMs();

    await expect(session.power.send("cycle", limit())).rejects.toMatchObject({
      class: "timeout",
      uncertain: true,
      message: expect.stringContaining("dropped the session"),
    });

    expect(clock.monotonicMs() - startedMs).toBeLessThan(24_000);
    expect(bmc.machine.commands).toEqual([]);
    expect(await session.power.read(limit())).toBe("on");
  });

  it("counts the round trips of both handshakes", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock: brisk(), overrides: PATIENT });
    bmc.restart();

    await session.power.read(limit());

    // Three, one that got no answer, three, one.
    expect(session.roundTrips()).toBe(8);
  });

  it("is an error of the credentials when these have changed meanwhile", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock: brisk(), overrides: PATIENT });
    const admin = bmc.users.find("admin");
    if (admin) admin.key = Buffer.alloc(20, 1);
    bmc.restart();

    await expect(session.power.send("on", limit())).rejects.toMatchObject({ class: "auth", uncertain: true });
  });

  it("frees its new slot when it is closed", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock: brisk(), overrides: PATIENT });
    bmc.restart();
    await session.power.read(limit());

    await session.close();

    await eventually(() => bmc.sessions() === 0);
  });

  it("leaves no half-open slot when it is closed in the middle of the other handshake", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock: brisk(), overrides: PATIENT });
    bmc.restart();
    bmc.faults.ignores = (name) => name === "RAKP1";

    const read = session.power.read(limit());
    await eventually(() => bmc.log.filter((name) => name === "RAKP1").length === 2);
    await Promise.all([session.close(), expect(read).rejects.toMatchObject({ class: "cancelled" })]);

    await eventually(() => bmc.sessions() === 0);
  });
});

describe.concurrent("a session that is only slow", () => {
  it("continues for a command that must not be repeated, whatever another handshake would say", async () => {
    await using bmc = await startBmc({ machine: { power: "on" } });
    await using session = await openSession(bmc, { overrides: { requestTimeoutMs: 6_000 } });
    await session.boot.read(limit());
    bmc.faults.losesAnswer = (name) => name === "Chassis Control";
    const opened = bmc.log.filter((name) => name === "Open Session").length;

    await expect(session.power.send("reset", limit())).rejects.toMatchObject({
      class: "timeout",
      uncertain: true,
      message: expect.stringContaining("no answer within 6000 ms"),
    });

    // It answered other packets meanwhile, so it was never taken for forgotten.
    expect(bmc.log.filter((name) => name === "Open Session")).toHaveLength(opened);
    expect(bmc.machine.count("reset")).toBe(1);
  });

  it("is kept when there is no slot for another", async () => {
    await using bmc = await startBmc({ sessionSlots: 1 });
    await using session = await openSession(bmc, { clock: brisk(), overrides: PATIENT });
    let copies = 0;
    bmc.faults.ignores = (name) => name === "Get Chassis Status" && ++copies < 5;

    expect(await session.power.read(limit())).toBe("off");
    expect(bmc.log.filter((name) => name === "RAKP3")).toHaveLength(1);
  });
});

describe.concurrent("a BMC that restarts after a cold reset", () => {
  it("is waited for within the request's time", async () => {
    await using bmc = await startBmc({ restartMs: 2_000 });
    await using session = await openSession(bmc, {
      clock: brisk(),
      overrides: { ...AS_ADMINISTRATOR, ...PATIENT },
    });

    await session.manager?.reset("cold", limit());

    expect(await session.power.read(limit())).toBe("off");
  });
});
