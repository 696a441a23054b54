import { describe, expect, test } from "vitest";
import { type BmcStart, resetManager } from "../../../../shared/bmc/operations/manager.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { redfishLab } from "../../../support/bmc-lab.ts";

const signal = new AbortController().signal;
const silence = new BmcError("unreachable", "timed out");
const refused = new BmcError("unreachable", "connection refused", {
  cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
});
const lost = new BmcError("timeout", "no answer", { uncertain: true });

const silences = (count: number) => Array.from({ length: count }, () => silence);

/** What a BMC does when it is looked at: an answer, which may say when it started, or a failure. */
type Look = "answers" | BmcStart | ((ms: number) => BmcStart) | BmcError;

interface Shown {
  /** When it started, before the reset. */
  readonly start?: BmcStart;
  /** Whether it has forgotten the session of the reset, look by look, the last of it for ever. */
  readonly forgotten?: readonly (boolean | undefined)[];
}

/** A BMC that does these in turn, and repeats the last one. Its clock only advances in waits. */
function bmcThat(
  looks: readonly [Look, ...Look[]],
  reset: BmcError | "accepts" = "accepts",
  { start, forgotten = [] }: Shown = {},
) {
  const left = [...looks];
  const known = [...forgotten];
  let nowMs = 0;
  const seen = { resets: 0, looks: 0, sent: 0 };
  const sleep = async (ms: number) => {
    nowMs += ms;
  };
  return {
    seen,
    clock: { now: () => nowMs, monotonicMs: () => nowMs, sleep },
    sleep,
    progress: () => undefined,
    async reset(): Promise<void> {
      seen.resets += 1;
      if (reset !== "accepts") throw reset;
    },
    lastStart: async () => start,
    async probe(): Promise<BmcStart | undefined> {
      seen.looks += 1;
      const look = (left.length > 1 ? left.shift() : left[0]) ?? "answers";
      if (look instanceof BmcError) throw look;
      if (typeof look === "function") return look(nowMs);
      return look === "answers" ? undefined : look;
    },
    isForgotten: async () => (known.length > 1 ? known.shift() : known[0]),
    onSent() {
      seen.sent += 1;
    },
  };
}

describe("a reset of the BMC", () => {
  test("ends when the BMC was silent and answers, not while it still does", async () => {
    const bmc = bmcThat(["answers", "answers", silence, silence, "answers"]);

    const report = await resetManager(bmc, "cold", 300_000);

    expect(report).toEqual({ changed: true, summary: "BMC reset (cold), answers again after 6.0 s" });
    expect(bmc.seen).toEqual({ resets: 1, looks: 5, sent: 1 });
  });

  test.each([
    ["busy", "starting up"],
    ["bmc", "internal error"],
    ["protocol", "no JSON"],
    ["unsupported", "no such system"],
    ["usage", "the BMC has several systems"],
    ["tls", "internal error"],
  ] as const)("counts an answer of class %s as silence: it is not itself yet", async (errorClass, text) => {
    const report = await resetManager(
      bmcThat([new BmcError(errorClass, text), silence, "answers"]),
      "warm",
      300_000,
    );

    expect(report.summary).toBe("BMC reset (warm), answers again after 4.0 s");
  });

  test("whose answer is lost is in doubt when the BMC stays, and not sent again", async () => {
    const bmc = bmcThat(["answers"], lost);

    await expect(resetManager(bmc, "warm", 300_000)).rejects.toMatchObject({
      class: "timeout",
      uncertain: true,
      message:
        "no answer; the BMC may have been reset, it did not become unreachable within 1m 0s: not sent again",
    });
    expect(bmc.seen.resets).toBe(1);
  });

  test.each(["cold", "warm"] as const)("that is %s is not proven by one look that fails", async (kind) => {
    await expect(resetManager(bmcThat(["answers", silence, "answers"]), kind, 300_000)).rejects.toMatchObject(
      { class: "verify" },
    );
  });

  const at = (text: string, clock?: string) => ({
    startedMs: Date.parse(`2026-01-15T${text}Z`),
    ...(clock === undefined ? {} : { clockMs: Date.parse(`2026-01-15T${clock}Z`) }),
  });

  test.each<{ readonly proof: string; readonly bmc: ReturnType<typeof bmcThat> }>([
    {
      proof: "a later start",
      bmc: bmcThat(["answers", at("10:00:00")], "accepts", { start: at("09:00:00") }),
    },
    {
      proof: "a later start, after an answer that was lost",
      bmc: bmcThat([at("10:00:00")], lost, { start: at("09:00:00") }),
    },
    {
      proof: "another start on a clock that began anew",
      bmc: bmcThat([at("00:00:01", "00:00:09")], "accepts", { start: at("09:00:00", "10:00:00") }),
    },
    {
      proof: "a later start that the BMC shows some time after its silence",
      bmc: bmcThat([at("09:00:00"), silence, silence, at("09:00:00"), at("10:00:00")], "accepts", {
        start: at("09:00:00"),
      }),
    },
    {
      proof: "a silence, where the last start was seconds ago and cannot be told from the next one",
      bmc: bmcThat(["answers", silence, silence, at("09:00:06")], "accepts", {
        start: at("09:00:02", "09:00:04"),
      }),
    },
    {
      proof: "two looks at a session that it has forgotten",
      bmc: bmcThat(["answers"], "accepts", { forgotten: [false, true] }),
    },
    {
      proof: "a session that is forgotten after a silence",
      bmc: bmcThat([silence, silence, "answers"], lost, { forgotten: [true] }),
    },
    {
      proof: "a silence after a first answer, whose own answer was lost",
      bmc: bmcThat(["answers", silence, silence, "answers"], lost),
    },
    {
      proof: "connections that are refused, after an answer that was lost",
      bmc: bmcThat([refused, refused, "answers"], lost),
    },
    {
      proof: "a silence that lasts, whose own answer was lost",
      bmc: bmcThat([silence, ...silences(8), "answers"], lost),
    },
  ])("is proven by $proof", async ({ bmc }) => {
    expect((await resetManager(bmc, "cold", 300_000)).summary).toMatch(/^BMC reset \(cold\), answers again/);
    expect(bmc.seen.resets).toBe(1);
  });

  test.each<{ readonly what: string; readonly bmc: ReturnType<typeof bmcThat>; readonly said: string }>([
    {
      what: "whose last start stays, although it was silent",
      bmc: bmcThat([silence, silence, at("09:00:01")], "accepts", { start: at("09:00:00") }),
      said: "the BMC accepted the cold reset, but it was silent and answers again, which need not be its restart, and its last reset was at 2026-01-15T09:00:01.000Z, as before: the end is unknown",
    },
    {
      what: "whose clock was set, and its computed start with it",
      bmc: bmcThat(
        [(ms) => ({ ...at("11:00:00"), clockMs: ms + Date.parse("2026-01-15T13:00:00Z") })],
        "accepts",
        {
          start: at("09:00:00", "11:00:00"),
        },
      ),
      said: "the BMC accepted the cold reset, but it did not become unreachable within 1m 0s, and its last reset was at 2026-01-15T11:00:00.000Z, as before: the end is unknown",
    },
    {
      what: "that still knows the session, although it was silent",
      bmc: bmcThat([silence, silence, "answers"], "accepts", { forgotten: [false] }),
      said: "the BMC accepted the cold reset, but it was silent and answers again, which need not be its restart, and it still knows the session that it was sent in: the end is unknown",
    },
  ])("is not proven by a BMC $what", async ({ bmc, said }) => {
    await expect(resetManager(bmc, "cold", 300_000)).rejects.toMatchObject({
      class: "verify",
      uncertain: true,
      message: said,
    });
    expect(bmc.seen.resets).toBe(1);
  });

  test("is not proven by a short silence that what lost its answer explains", async () => {
    await expect(
      resetManager(bmcThat([silence, silence, "answers"], lost), "cold", 300_000),
    ).rejects.toMatchObject({ class: "timeout", uncertain: true });
  });

  test("is not proven by a session that may have ended unused", async () => {
    const bmc = bmcThat([silence, ...silences(39), at("09:00:00")], "accepts", {
      start: at("09:00:00"),
      forgotten: [true],
    });

    await expect(resetManager(bmc, "cold", 300_000)).rejects.toMatchObject({ class: "verify" });
  });

  test("that is refused is not waited for", async () => {
    const bmc = bmcThat(["answers"], new BmcError("bmc", "no"));

    await expect(resetManager(bmc, "cold", 300_000)).rejects.toMatchObject({ class: "bmc" });
    expect(bmc.seen).toEqual({ resets: 1, looks: 0, sent: 0 });
  });

  test.each(["cold", "warm"] as const)("that is %s and never goes away is not proven", async (kind) => {
    await expect(resetManager(bmcThat(["answers"]), kind, 300_000)).rejects.toMatchObject({
      class: "verify",
      message: `the BMC accepted the ${kind} reset, but it did not become unreachable within 1m 0s: the end is unknown`,
    });
  });

  test.each(["cold", "warm"] as const)(
    "that is %s is not called done when there was no time to see the BMC go away",
    async (kind) => {
      await expect(resetManager(bmcThat(["answers"]), kind, 5_000)).rejects.toMatchObject({
        class: "timeout",
        message: `the BMC accepted the ${kind} reset, but it did not become unreachable within 5.0 s`,
      });
    },
  );

  test("without an answer afterwards fails when its time has expired, with the last reason", async () => {
    const bmc = bmcThat([silence]);

    await expect(resetManager(bmc, "cold", 30_000)).rejects.toMatchObject({
      class: "timeout",
      message: "the BMC did not answer within 30.0 s of its reset: timed out",
    });
    expect(bmc.clock.monotonicMs()).toBe(30_000);
  });

  test("ends at once with a refused login", async () => {
    const bmc = bmcThat([silence, new BmcError("auth", "no")]);

    await expect(resetManager(bmc, "cold", 300_000)).rejects.toMatchObject({
      class: "auth",
      message: "after the reset of the BMC: no",
    });
    expect(bmc.seen.looks).toBe(2);
  });
});

test("a BMC that hangs on the way does not outlast the time for its answer", async () => {
  await using lab = await redfishLab({}, {}, { requestTimeoutMs: 600_000 });
  // What the reset needs to know of the system is known.
  await lab.client.getInfo(signal);
  lab.bmc.fail({ kind: "silent", method: "GET", path: /Systems\/1$/, times: 9 });

  await expect(lab.client.resetManager("warm", 3_000, signal)).rejects.toMatchObject({
    class: "timeout",
    message: expect.stringContaining("did not answer within 3.0 s"),
  });
});

test("what a reset would send is reported with what the BMC is", async () => {
  await using lab = await redfishLab();

  const plan = await lab.client.planManagerReset("cold", signal);

  expect(plan).toMatchObject({
    before: { firmware: "1.2.3" },
    steps: ['POST /redfish/v1/Managers/1/Actions/Manager.Reset {"ResetType":"ForceRestart"}'],
  });
  expect(lab.bmc.log.filter((line) => line.startsWith("POST"))).toEqual([]);
});
