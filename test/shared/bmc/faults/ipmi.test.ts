import { describe, expect, test } from "vitest";
import type { Direction } from "../../../support/proxy/direction.ts";
import { attempt, eventually, fail, OFF, ON, RESET, succeed } from "./attempt.ts";
import { ipmiFaultLab } from "./ipmi-lab.ts";

const atMostOneReset = (done: readonly string[]) => done.length === 0 || done.join() === "reset";

const SEEDS = [1, 2, 3, 4, 5, 6];

describe.concurrent("a wire that loses a fifth of the packets each way", () => {
  // A busy machine delays packets, which on the fast clock looks like more loss.
  const connection = { connectTimeoutMs: 60_000, requestTimeoutMs: 60_000 };
  const network = (seed: number) => ({ network: { loss: 0.2, seed }, freesSlots: false, connection });

  test.each(SEEDS)(
    "lets a reset be done at most once, and says so when it is uncertain (seed %i)",
    async (seed) => {
      await using lab = await ipmiFaultLab({ machine: { power: "on" }, ...network(seed) });

      const { error } = await attempt((signal) => lab.client.setPower(RESET, signal));

      // Where not even a session came about, nothing was sent, and that is certain.
      if (error) expect(error.class).toBe("timeout");
      expect(lab.done()).toEqual(error && !error.uncertain ? [] : expect.toSatisfy(atMostOneReset));
      if (!error) expect(lab.done()).toEqual(["reset"]);
    },
  );
});

describe.concurrent("a wire that repeats and reorders packets", () => {
  const network = (seed: number) => ({ network: { duplication: 0.5, reordering: 0.5, seed } });

  test.each(SEEDS)("does not repeat a command (seed %i)", async (seed) => {
    await using lab = await ipmiFaultLab({ machine: { power: "off" }, ...network(seed), freesSlots: false });

    await succeed((signal) => lab.client.setPower(ON, signal));
    await succeed((signal) => lab.client.setPower(RESET, signal));
    await succeed((signal) => lab.client.setPower(OFF, signal));

    expect(lab.done()).toEqual(["on", "reset", "off"]);
  });
});

describe.concurrent("a wire on which others put packets too", () => {
  const down = (change: (datagram: Buffer) => readonly Buffer[]) => ({
    rewrite: (datagram: Buffer, direction: Direction) =>
      direction === "down" ? [...change(datagram), datagram] : [datagram],
  });
  const flipped = (datagram: Buffer, at: number) => {
    const copy = Buffer.from(datagram);
    copy[at] = (copy[at] ?? 0) ^ 0x01;
    return copy;
  };

  test.each<[string, (datagram: Buffer) => readonly Buffer[]]>([
    ["with a flipped bit in the last byte", (datagram) => [flipped(datagram, datagram.length - 1)]],
    [
      "with a flipped bit in each of the bytes",
      (datagram) => [...datagram.keys()].map((at) => flipped(datagram, at)),
    ],
    [
      "cut off at every length",
      (datagram) => [...datagram.keys()].map((length) => datagram.subarray(0, length)),
    ],
    ["with more bytes at the end", (datagram) => [Buffer.concat([datagram, Buffer.alloc(16, 0xa5)])]],
    [
      "of nothing but noise",
      () => [Buffer.alloc(0), Buffer.alloc(1_400, 0xff), Buffer.from("0600ff07", "hex")],
    ],
  ])("is not misled by answers %s", async (_, change) => {
    await using lab = await ipmiFaultLab({ machine: { power: "on" }, ...down(change) });

    const { error } = await attempt((signal) => lab.client.setPower(OFF, signal));

    // A forger on the wire can make a handshake fail, for the status of its messages is not authenticated; he
    // cannot make a session believe anything.
    if (error)
      expect(["auth", "bmc", "busy", "protocol", "unreachable", "unsupported"]).toContain(error.class);
    expect(lab.done()).toEqual(error ? [] : ["off"]);
  });

  test("is not misled within a session by the answer to another session's question", async () => {
    // An attacker who recorded the answers of the first session, with the machine on, plays them to the second.
    const recorded: Buffer[] = [];
    let replaying = false;
    await using lab = await ipmiFaultLab({
      machine: { power: "on" },
      rewrite: (datagram, direction) => {
        if (direction === "up") return [datagram];
        if (!replaying) recorded.push(Buffer.from(datagram));
        return replaying ? [...recorded, datagram] : [datagram];
      },
    });
    expect(await succeed((signal) => lab.client.getPower(signal))).toBe("on");
    replaying = true;

    const report = await succeed((signal) => lab.client.setPower(OFF, signal));

    expect(report.after).toBe("off");
    expect(lab.machine.power).toBe("off");
    expect(lab.done()).toEqual(["off"]);
  });
});

describe.concurrent("packets that arrive cut off, and nothing else", () => {
  test("from the start: the BMC is as good as not there", async () => {
    await using lab = await ipmiFaultLab({
      machine: { power: "on" },
      rewrite: (datagram, direction) => [direction === "down" ? datagram.subarray(0, -1) : datagram],
      freesSlots: false,
    });

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(["protocol", "unreachable", "timeout"]).toContain(error.class);
    expect(lab.done()).toEqual([]);
  });
});

describe.concurrent("a BMC that goes away in mid-operation", () => {
  /** Shorter than the operation watches for what became of its command. */
  const impatient = { connectTimeoutMs: 3_000, requestTimeoutMs: 4_000 };
  const lively = { machine: { power: "on" }, connection: impatient, freesSlots: false } as const;

  test("and swallows everything: the class of silence, and the command is not repeated", async () => {
    await using lab = await ipmiFaultLab(lively);
    lab.machine.once("command", () => lab.relay.cut());

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(["timeout", "unreachable"]).toContain(error.class);
    expect(lab.done()).toEqual(["off"]);
  });

  test("and refuses: unreachable, and the command is not repeated", async () => {
    await using lab = await ipmiFaultLab(lively);
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    lab.machine.once("command", () => resolve(lab.relay.close()));

    const error = await fail((signal) => lab.client.setPower(OFF, signal));
    await gone;

    expect(error.class).toBe("unreachable");
    expect(lab.done()).toEqual(["off"]);
  });

  test("and returns without its sessions: is found again, and the command is not repeated", async () => {
    await using lab = await ipmiFaultLab(lively);
    const after = await lab.restarted();
    lab.machine.once("command", () => {
      lab.relay.cut();
      setTimeout(() => lab.relay.restore(after.port), 100);
    });

    const ended = await attempt((signal) => lab.client.setPower(OFF, signal));
    await lab.client.close();
    await eventually(() => after.sessions() === 0);
    await after.close();

    expect(ended).toMatchObject({ value: { after: "off" } });
    expect(lab.done()).toEqual(["off"]);
  });
});

describe.concurrent("a BMC that is busy (0xC0)", () => {
  test("for ever is busy after a bounded number of requests, and nothing is changed", async () => {
    await using lab = await ipmiFaultLab({ machine: { power: "on" } });
    lab.bmc.faults.refuses = (name) => (name === "Close Session" ? undefined : 0xc0);

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error.class).toBe("busy");
    expect(lab.done()).toEqual([]);
    expect(lab.bmc.log.filter((name) => name.includes("Chassis")).length).toBeLessThanOrEqual(12);
  });
});

describe.concurrent("Get Chassis Status that is refused", () => {
  const refusing = async (code: number, times = Number.POSITIVE_INFINITY) => {
    const lab = await ipmiFaultLab({ machine: { power: "on" } });
    let left = times;
    lab.bmc.faults.refuses = (name) => (name === "Get Chassis Status" && left-- > 0 ? code : undefined);
    return lab;
  };

  test.each([0xff, 0xc1, 0xd5])("with %i does not keep a setting from being repaired", async (code) => {
    await using lab = await refusing(code);

    const policy = await succeed((signal) => lab.client.setRestorePolicy("always-on", signal));
    const led = await succeed((signal) => lab.client.setIndicator(true, signal));

    const unread = { changed: true, summary: expect.stringContaining("accepted, cannot be read back") };
    expect([policy, led]).toMatchObject([unread, unread]);
    expect(lab.machine.restorePolicy).toBe("always-on");
  });
});
