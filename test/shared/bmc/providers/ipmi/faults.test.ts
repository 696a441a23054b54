import { describe, expect, it } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { BmcError } from "../../../../../shared/contract/bmc-error.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { eventually, limit, openSession, startBmc } from "./bench.ts";

const clock = scaledClock(10);
const REQUEST_MS = 100_000;
const SLACK_MS = 10_000;
const OVERRIDES = { connectTimeoutMs: 150_000, requestTimeoutMs: REQUEST_MS };
const PXE_ONCE = { device: "pxe", persistent: false, mode: "uefi" } as const;

/** How long a call took on the session's clock, and how it ended. */
async function timed(call: () => Promise<unknown>): Promise<{ tookMs: number; error?: BmcError }> {
  const startedMs = clock.monotonicMs();
  const tookMs = () => clock.monotonicMs() - startedMs;
  try {
    await call();
    return { tookMs: tookMs() };
  } catch (thrown) {
    if (!(thrown instanceof BmcError)) throw thrown;
    return { tookMs: tookMs(), error: thrown };
  }
}

function openOver(bmc: { port: number }): Promise<Session & AsyncDisposable> {
  return openSession(bmc, { clock, overrides: OVERRIDES });
}

const LINES = {
  "loses a fifth of all packets": { loss: 0.2 },
  "doubles half of them": { duplication: 0.5 },
  "delivers half of them late": { reordering: 0.5 },
  "carries forgeries before half of the answers": { forgery: 0.5 },
  "cuts a fifth of them short": { truncation: 0.2 },
  "does a little of everything": {
    loss: 0.1,
    duplication: 0.2,
    reordering: 0.2,
    forgery: 0.2,
    truncation: 0.05,
  },
} as const;

describe.concurrent.each(Object.entries(LINES))("over a line that %s", (_, line) => {
  it.each([1, 2, 3])("what may be repeated succeeds and is done once (seed %i)", async (seed) => {
    await using bmc = await startBmc({ network: { ...line, seed } });
    await using session = await openOver(bmc);

    await session.boot.write(PXE_ONCE, limit());
    await session.power.send("on", limit());
    await eventually(() => bmc.machine.power === "on");

    expect(await session.power.read(limit())).toBe("on");
    expect(bmc.machine.commands.map(({ action }) => action)).toEqual(["on"]);
    expect(bmc.machine.lastBoot).toMatchObject({ device: "pxe", mode: "uefi", overridden: true });
  });

  it.each([4, 5, 8])(
    "a cycle is done at most once, and a lost answer is uncertain in time (seed %i)",
    async (seed) => {
      await using bmc = await startBmc({
        machine: { power: "on" },
        duplicates: "execute",
        network: { ...line, seed },
      });
      await using session = await openOver(bmc);

      const { tookMs, error } = await timed(() => session.power.send("cycle", limit()));

      if (error) expect(error).toMatchObject({ class: "timeout", uncertain: true });
      else expect(bmc.machine.count("cycle")).toBe(1);
      expect(bmc.machine.count("cycle")).toBeLessThanOrEqual(1);
      expect(tookMs).toBeLessThan(REQUEST_MS + SLACK_MS);
    },
  );

  it("leaves no session behind", async () => {
    await using bmc = await startBmc({ sessionIdleMs: 500, network: { ...line, seed: 7 } });
    await using session = await openOver(bmc);
    await session.power.read(limit());

    await session.close();

    await eventually(() => bmc.sessions() === 0);
  });
});

describe.concurrent("a BMC that restarts in the middle", () => {
  it.each(["on", "off"] as const)(
    "of power %s has done it once, and leaves the rest to the state",
    async (command) => {
      await using bmc = await startBmc({ machine: { power: command === "on" ? "off" : "on" } });
      await using session = await openOver(bmc);
      let asked = 0;
      bmc.faults.losesAnswer = (name) => {
        if (name !== "Chassis Control" || ++asked > 1) return false;
        bmc.restart(50);
        return true;
      };

      const { error } = await timed(() => session.power.send(command, limit()));

      expect(error).toMatchObject({ class: "timeout", uncertain: true });
      expect(bmc.machine.count(command)).toBe(1);
    },
  );

  it("of a handshake gets another one", async () => {
    await using bmc = await startBmc();
    let challenges = 0;
    bmc.faults.losesAnswer = (name) => {
      if (name !== "RAKP1" || ++challenges > 1) return false;
      bmc.restart(30);
      return true;
    };

    await using session = await openOver(bmc);

    expect(await session.power.read(limit())).toBe("off");
  });

  it("and never returns is a time-out, not a hang, and an uncertain one for a write", async () => {
    const requestTimeoutMs = 10_000;
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock, overrides: { ...OVERRIDES, requestTimeoutMs } });
    bmc.restart(600_000);

    const read = await timed(() => session.power.read(limit()));
    const write = await timed(() => session.power.send("on", limit()));

    expect(read.error).toMatchObject({ class: "timeout", uncertain: false });
    expect(write.error).toMatchObject({ class: "timeout", uncertain: true });
    for (const { tookMs } of [read, write]) expect(tookMs).toBeLessThan(requestTimeoutMs + SLACK_MS);
  });
});

describe.concurrent("a BMC key that does not fit", () => {
  it("leaves no slot taken at a BMC that has none", async () => {
    await using bmc = await startBmc();

    await expect(openSession(bmc, { overrides: { ipmi: { kg: "a key" } } })).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("the BMC has none"),
    });
    await eventually(() => bmc.sessions() === 0);
  });
});
