import { describe, expect, test } from "vitest";
import { resetManager } from "../../../../shared/bmc/operations/manager.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { redfishLab } from "../../../support/bmc-lab.ts";

const signal = new AbortController().signal;
const silence = new BmcError("unreachable", "connection refused");
const lost = new BmcError("timeout", "no answer", { uncertain: true });

/** What a BMC does when it is looked at: an answer, or a failure. */
type Look = "answers" | BmcError;

/** A BMC that does these in turn, and repeats the last one. Its clock only advances in waits. */
function bmcThat(looks: readonly [Look, ...Look[]], reset: BmcError | "accepts" = "accepts") {
  const left = [...looks];
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
    async probe(): Promise<void> {
      seen.looks += 1;
      const look = (left.length > 1 ? left.shift() : left[0]) ?? "answers";
      if (look !== "answers") throw look;
    },
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

  test("whose answer is lost is done when the BMC goes away and returns", async () => {
    const bmc = bmcThat(["answers", silence, silence, "answers"], lost);

    expect((await resetManager(bmc, "cold", 300_000)).summary).toMatch(/^BMC reset \(cold\), answers again/);
    expect(bmc.seen.resets).toBe(1);
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
    const bmc = bmcThat(["answers", silence, "answers"]);

    const result = resetManager(bmc, kind, 300_000);

    if (kind === "cold") await expect(result).rejects.toMatchObject({ class: "verify" });
    else
      expect((await result).summary).toMatch(/^BMC reset \(warm\) accepted; it did not become unreachable/);
  });

  test("that is refused is not waited for", async () => {
    const bmc = bmcThat(["answers"], new BmcError("bmc", "no"));

    await expect(resetManager(bmc, "cold", 300_000)).rejects.toMatchObject({ class: "bmc" });
    expect(bmc.seen).toEqual({ resets: 1, looks: 0, sent: 0 });
  });

  test("after which a cold one never goes away is a verification failure", async () => {
    await expect(resetManager(bmcThat(["answers"]), "cold", 300_000)).rejects.toMatchObject({
      class: "verify",
      message: "the BMC accepted the cold reset, but it did not become unreachable within 1m 0s",
    });
  });

  test("that is warm may be over without a moment's silence, which is said", async () => {
    expect((await resetManager(bmcThat(["answers"]), "warm", 300_000)).summary).toBe(
      "BMC reset (warm) accepted; it did not become unreachable within 1m 0s, and it answers",
    );
  });

  test.each(["cold", "warm"] as const)(
    "that is %s is not called done when there was no time to see the BMC go away",
    async (kind) => {
      await expect(resetManager(bmcThat(["answers"]), kind, 5_000)).rejects.toMatchObject({
        class: "timeout",
        message: "the BMC accepted the reset, but it did not become unreachable within 5.0 s",
      });
    },
  );

  test("without an answer afterwards fails when its time has expired, with the last reason", async () => {
    const bmc = bmcThat([silence]);

    await expect(resetManager(bmc, "cold", 30_000)).rejects.toMatchObject({
      class: "timeout",
      message: "the BMC did not answer within 30.0 s of its reset: connection refused",
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
  // What the reset needs to know is known, so that its POST is the next request.
  await lab.client.getInfo(signal);
  lab.bmc.fail({ kind: "silent", method: "GET", times: 9 });

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
