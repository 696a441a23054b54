import { describe, expect, it } from "vitest";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { eventually, limit, openSession, startBmc } from "./bench.ts";

/** Packets the BMC got, by name, since a moment. */
function countFrom(bmc: { log: readonly string[] }) {
  const start = bmc.log.length;
  return (name: string) => bmc.log.slice(start).filter((logged) => logged === name).length;
}

describe.concurrent("the packet budget", () => {
  it("closes the session with one packet and does not wait", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    await session.power.read(limit());

    await session.close();

    await eventually(() => bmc.sessions() === 0);
    expect(session.roundTrips()).toBe(4);
    expect(bmc.log.filter((name) => name === "Close Session")).toHaveLength(1);
  });

  it("has no packet more than needed with a user who may only look", async () => {
    await using bmc = await startBmc({ users: [{ name: "admin", password: "calvin", privilege: "user" }] });
    await using session = await openSession(bmc, { overrides: { ipmi: { privilege: "user" } } });

    expect(await session.power.read(limit())).toBe("off");
    await expect(session.power.send("on", limit())).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("privilege"),
    });
    expect(bmc.log).not.toContain("Set Session Privilege Level");
  });
});

describe.concurrent("rising to the privilege level", () => {
  it("sends the command again when the BMC handled it first", async () => {
    await using bmc = await startBmc();
    let losses = 0;
    bmc.faults.ignores = (name) => name === "Set Session Privilege Level" && losses++ === 0;
    await using session = await openSession(bmc);

    await session.power.send("on", limit());

    expect(bmc.machine.count("on")).toBe(1);
    // On a busy machine it may be sent more often.
    expect(bmc.log.filter((name) => name === "Chassis Control").length).toBeGreaterThanOrEqual(2);
  });

  it("sends the command again when the BMC was busy with the first packet", async () => {
    await using bmc = await startBmc();
    let refusals = 0;
    bmc.faults.refuses = (name) => (name === "Chassis Control" && refusals++ === 0 ? 0xc0 : undefined);
    await using session = await openSession(bmc);

    await session.power.send("on", limit());

    expect(bmc.machine.count("on")).toBe(1);
  });

  it("says so when the BMC does not let the session rise", async () => {
    await using bmc = await startBmc();
    bmc.faults.refuses = (name) => (name === "Set Session Privilege Level" ? 0x81 : undefined);
    await using session = await openSession(bmc);

    await expect(session.power.send("on", limit())).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("operator exceeds what the user or the channel is allowed"),
    });
    expect(bmc.machine.commands).toEqual([]);
  });
});

describe.concurrent("completion codes", () => {
  it.each([
    [0xc0, "busy"],
    [0xc1, "unsupported"],
    [0xc3, "timeout"],
    [0xcc, "unsupported"],
    [0xd4, "auth"],
    [0xd5, "state"],
    [0xff, "bmc"],
    [0xce, "busy"],
  ])("turns %i into its class", async (code, errorClass) => {
    await using bmc = await startBmc();
    bmc.faults.refuses = (name) => (name === "Chassis Control" ? code : undefined);
    await using session = await openSession(bmc);

    await expect(session.power.send("on", limit())).rejects.toMatchObject({
      class: errorClass,
      message: expect.stringContaining(`0x${code.toString(16).toUpperCase()}`),
      uncertain: [0xc3, 0xff].includes(code),
    });
  });

  it("do not send a reset again whose answer the BMC could not provide", async () => {
    await using bmc = await startBmc();
    bmc.faults.refuses = (name) => (name === "Chassis Control" ? 0xce : undefined);
    await using session = await openSession(bmc);

    await expect(session.power.send("reset", limit())).rejects.toMatchObject({ uncertain: true });
  });
});

describe.concurrent("lost packets", () => {
  it("repeats a read under a new session sequence number", async () => {
    await using bmc = await startBmc({ duplicates: "execute" });
    await using session = await openSession(bmc);
    let losses = 0;
    bmc.faults.losesAnswer = (name) => name === "Get Chassis Status" && losses++ < 2;

    expect(await session.power.read(limit())).toBe("off");

    expect(bmc.log.filter((name) => name === "Get Chassis Status")).toHaveLength(3);
    expect(bmc.repeatedSequences).toBe(0);
  });

  it.each(["on", "soft-off"] as const)("repeats %s, which does nothing twice", async (command) => {
    await using bmc = await startBmc({ machine: { power: command === "on" ? "off" : "on" } });
    await using session = await openSession(bmc);
    let losses = 0;
    bmc.faults.losesAnswer = (name) => name === "Chassis Control" && losses++ === 0;

    await session.power.send(command, limit());

    expect(bmc.machine.count(command)).toBe(1);
  });

  it.each(["cycle", "reset"] as const)(
    "never repeats %s, and says that it may have been done",
    async (command) => {
      await using bmc = await startBmc({ machine: { power: "on" }, duplicates: "execute" });
      await using session = await openSession(bmc, { overrides: { requestTimeoutMs: 1_500 } });
      bmc.faults.losesAnswer = (name) => name === "Chassis Control";
      const count = countFrom(bmc);

      await expect(session.power.send(command, limit())).rejects.toMatchObject({
        class: "timeout",
        uncertain: true,
      });

      expect(count("Chassis Control")).toBe(1);
      expect(bmc.machine.count(command)).toBe(1);
    },
  );

  it("is uncertain about a write and not about a read that nothing answers", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { overrides: { requestTimeoutMs: 300 } });
    bmc.faults.ignores = () => true;

    await expect(session.power.read(limit())).rejects.toMatchObject({ class: "timeout", uncertain: false });
    await expect(session.power.send("on", limit())).rejects.toMatchObject({
      class: "timeout",
      uncertain: true,
    });
  });

  it("asks under a new number when the BMC only says that it was asked before", async () => {
    await using bmc = await startBmc({ duplicates: "refuse" });
    await using session = await openSession(bmc);
    let losses = 0;
    bmc.faults.losesAnswer = (name) => name === "Get Chassis Status" && losses++ === 0;

    expect(await session.power.read(limit())).toBe("off");
    expect(bmc.log.filter((name) => name === "Get Chassis Status")).toHaveLength(3);
  });

  it("backs off: five copies within eight seconds of silence", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, {
      clock: scaledClock(10),
      overrides: { requestTimeoutMs: 8_000, connectTimeoutMs: 60_000 },
    });
    bmc.faults.ignores = () => true;
    const count = countFrom(bmc);

    await expect(session.power.read(limit())).rejects.toMatchObject({ class: "timeout" });
    // At 0, 0.5, 1.5, 3.5 and 7.5 s.
    expect(count("Get Chassis Status")).toBe(5);
  });

  it("ends at once when the BMC's service goes away", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { overrides: { requestTimeoutMs: 60_000 } });
    await bmc.close();
    bmc.close = async () => undefined;

    await expect(session.power.read(limit())).rejects.toMatchObject({ class: "unreachable" });
  });
});

describe.concurrent("packets that are not what they seem", () => {
  it("drops forged, damaged, foreign and repeated ones without a word", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    let earlier: Buffer | undefined;
    bmc.faults.rewrites = (name, datagram) => {
      if (name !== "Get Chassis Status") return [datagram];
      const damaged = Buffer.from(datagram);
      damaged.writeUInt8(damaged.readUInt8(20) ^ 1, 20);
      const foreign = Buffer.from(datagram);
      foreign.writeUInt32LE(1, 6);
      const inTheClear = Buffer.from(datagram);
      inTheClear.writeUInt8(0x00, 5);
      const replayed = earlier ? [earlier] : [];
      earlier = datagram;
      return [Buffer.of(6), damaged, foreign, inTheClear, ...replayed, datagram, datagram];
    };

    expect(await session.power.read(limit())).toBe("off");
    bmc.machine.do("on");
    await eventually(() => bmc.machine.power === "on");
    // A replayed "off" that was taken would show here.
    for (let poll = 0; poll < 70; poll += 1) expect(await session.power.read(limit())).toBe("on");
  });
});

describe.concurrent("a session", () => {
  it("has one flight on the way at a time, whatever is asked at once", async () => {
    await using bmc = await startBmc({ network: { latencyMs: 30 } });
    await using session = await openSession(bmc);
    const count = countFrom(bmc);

    const reads = [session.power.read(limit()), session.power.read(limit()), session.power.read(limit())];
    await eventually(() => count("Get Chassis Status") > 0);

    expect(count("Get Chassis Status")).toBe(1);
    expect(await Promise.all(reads)).toEqual(["off", "off", "off"]);
  });

  it("continues after an aborted request", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    const abort = new AbortController();
    bmc.faults.ignores = () => true;

    const read = session.power.read(abort.signal);
    setTimeout(() => abort.abort(new Error("enough")), 20);
    await expect(read).rejects.toThrow("enough");
    bmc.faults.ignores = () => false;

    expect(await session.power.read(limit())).toBe("off");
  });

  it("frees the BMC's slot when it is closed in the middle of a request", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    bmc.faults.ignores = (name) => name === "Get Chassis Status";

    const read = session.power.read(limit());
    await eventually(() => bmc.log.includes("Get Chassis Status"));
    await Promise.all([session.close(), expect(read).rejects.toMatchObject({ class: "cancelled" })]);

    await eventually(() => bmc.sessions() === 0);
  });

  it("may be closed twice", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);

    await session.close();
    await expect(session.close()).resolves.toBeUndefined();
  });
});

describe.concurrent("power", () => {
  it.each([
    ["on", "off", 0x01, "power up"],
    ["off", "on", 0x00, "power down"],
    ["cycle", "on", 0x02, "power cycle"],
    ["reset", "on", 0x03, "hard reset"],
    ["soft-off", "on", 0x05, "soft shutdown"],
  ] as const)("%s is the chassis control it plans", async (command, power, code, title) => {
    await using bmc = await startBmc({ machine: { power } });
    await using session = await openSession(bmc);
    const sent: number[] = [];
    bmc.faults.refuses = (name, data) => {
      if (name === "Chassis Control") sent.push(...data);
      return undefined;
    };

    expect(await session.power.plan(command, limit())).toBe(`Chassis Control: ${title} (0x0${code})`);
    expect(bmc.machine.commands).toEqual([]);
    await session.power.send(command, limit());

    expect(sent).toEqual([code]);
    expect(bmc.machine.commands.map(({ action }) => action)).toEqual([command]);
  });

  it("is a protocol error when the answer is empty", async () => {
    const { parseChassisStatus } = await import(
      "../../../../../shared/bmc/providers/ipmi/commands/chassis.ts"
    );

    expect(() => parseChassisStatus(Buffer.alloc(0))).toThrow("empty");
    expect(parseChassisStatus(Buffer.of(0xfe))).toBe("off");
    expect(parseChassisStatus(Buffer.of(0x01, 0xff, 0xff))).toBe("on");
  });
});

describe.concurrent("a BMC that answers its own way within the session", () => {
  it.each([
    [0xcc, "unsupported", false],
    [0xc1, "unsupported", false],
    [0xc9, "unsupported", false],
    [0xd5, "unsupported", false],
    [0xff, "bmc", true],
  ])(
    "IW050: has no power cycle, for which off and on serve, or says nothing of it: %i is %s",
    async (code, errorClass, uncertain) => {
      await using bmc = await startBmc({ machine: { power: "on" } });
      await using session = await openSession(bmc);
      bmc.faults.refuses = (name) => (name === "Chassis Control" ? code : undefined);

      await expect(session.power.send("cycle", limit())).rejects.toMatchObject({
        class: errorClass,
        uncertain,
      });
      expect(bmc.log.filter((name) => name === "Chassis Control")).toHaveLength(1);
    },
  );

  it("IW001: is understood with wrong checksums, which the integrity check outweighs", async () => {
    await using bmc = await startBmc({ wrongChecksums: true, machine: { power: "on" } });
    await using session = await openSession(bmc);

    expect(await session.power.read(limit())).toBe("on");
    await session.power.send("off", limit());
    await eventually(() => bmc.machine.power === "off");
  });

  it.each([
    ["IW040", 0xff],
    ["IW039", 0xc3],
    ["IW039", 0xc0],
    ["IW039", 0xd2],
  ])("%s: is asked again for some seconds where a read is refused for the moment: %i", async (_, code) => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock: scaledClock(20) });
    let reads = 0;
    bmc.faults.refuses = (name) => (name === "Get Chassis Status" && ++reads < 5 ? code : undefined);

    expect(await session.power.read(limit())).toBe("off");
  });

  it("IW040: is an error with its code once these seconds are over, and then at once", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock: scaledClock(20) });
    let reads = 0;
    bmc.faults.refuses = (name) => {
      if (name !== "Get Chassis Status") return undefined;
      reads += 1;
      return 0xff;
    };
    const expected = { class: "bmc", message: expect.stringContaining("0xFF") };

    await expect(session.power.read(limit())).rejects.toMatchObject(expected);
    expect(reads).toBe(6);
    await expect(session.power.read(limit())).rejects.toMatchObject(expected);
    expect(reads).toBe(7);
  });

  it("IW159: gets the session's level for a read that it refuses to a lower one", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    let isRaised = false;
    bmc.faults.refuses = (name) => {
      if (name === "Set Session Privilege Level") isRaised = true;
      return name === "Get Chassis Status" && !isRaised ? 0xd4 : undefined;
    };

    expect(await session.power.read(limit())).toBe("off");
    expect(bmc.log.filter((name) => name === "Set Session Privilege Level")).toHaveLength(1);
  });

  it.each(["reset", "cycle", "soft-off"] as const)(
    "gets a %s once, although it refuses in the end what it has carried out",
    async (command) => {
      for (const code of [0xd4, 0xc0]) {
        await using bmc = await startBmc({ machine: { power: "on" } });
        await using session = await openSession(bmc);
        bmc.faults.overrules = (name, reply) => (name === "Chassis Control" ? { ...reply, code } : reply);

        const refused = { class: code === 0xd4 ? "auth" : "busy" };
        await expect(session.power.send(command, limit())).rejects.toMatchObject(refused);
        expect(bmc.log.filter((name) => name === "Chassis Control")).toHaveLength(1);
      }
    },
  );

  it.each([
    ["IW187", "operator", /refuses it to privilege level operator.*IPMI_PRIVILEGE=administrator/],
    ["IW084", "administrator", /refuses it to privilege level administrator, the highest one/],
  ])("%s: names a higher level than the one it refuses: %s", async (_, privilege, message) => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { overrides: { ipmi: { privilege } } });
    bmc.faults.refuses = (name) => (name === "Get Chassis Status" ? 0xd4 : undefined);

    await expect(session.power.read(limit())).rejects.toMatchObject({
      class: "auth",
      refused: "right",
      message: expect.stringMatching(message),
    });
  });

  it("IW169: is named where it answers other commands and not this one, within seconds", async () => {
    await using bmc = await startBmc();
    const clock = scaledClock(20);
    await using session = await openSession(bmc, { clock, overrides: { requestTimeoutMs: 30_000 } });
    bmc.faults.ignores = (name) => name === "Get Chassis Status";
    const startedMs = clock.monotonicMs();

    await expect(session.power.read(limit())).rejects.toMatchObject({
      class: "bmc",
      message: "Get Chassis Status: no answer, although the BMC answers other commands",
    });
    expect(clock.monotonicMs() - startedMs).toBeLessThan(25_000);
  });

  it("IW010: is named where all its packets fail their integrity check", async () => {
    await using bmc = await startBmc();
    const clock = scaledClock(20);
    await using session = await openSession(bmc, { clock, overrides: { requestTimeoutMs: 30_000 } });
    bmc.faults.rewrites = (name, datagram) => {
      const copy = Buffer.from(datagram);
      if (name === "Get Chassis Status" || name === "Get Device ID")
        copy.writeUInt8(copy.readUInt8(20) ^ 0xff, 20);
      return [copy];
    };

    await expect(session.power.read(limit())).rejects.toMatchObject({
      class: "protocol",
      message: expect.stringContaining("fail their integrity check"),
    });
  });
});
