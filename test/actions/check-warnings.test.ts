import { describe, expect, it } from "vitest";
import { clockSkew, describeSkew, describeSpan, exceeds } from "../../actions/check/clock-skew.ts";
import { createCertificate } from "../../simulators/certificate.ts";
import { ActionRun, resultOf, runAction } from "./action-run.ts";
import { rowOf, statesOf } from "./check-lab.ts";
import { actionLab, eventually } from "./lab.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const both = ["redfish", "ipmi"] as const;

describe.concurrent("a BMC's clock", () => {
  it("that is off is a warning, with how far", async () => {
    await using lab = await actionLab({
      ipmi: { clockSeconds: Math.floor(Date.now() / 1_000) - 40 * 86_400 - 60 },
    });
    lab.redfish.manager.clockSkewMs = 2 * HOUR_MS + 5_000;

    const ended = await runAction("check", { env: lab.env(...both) });

    expect(resultOf(ended)).toMatchObject({
      ok: true,
      message: expect.stringMatching(
        /^all 3 required checks passed; redfish: \d+ of \d+ \(1 warning\), ipmi: \d+ of \d+ \(2 warnings\)$/,
      ),
    });
    expect(rowOf(ended, "redfish", "clock")).toMatchObject({ state: "warning", class: "verify" });
    expect(rowOf(ended, "redfish", "clock")?.detail).toMatch(
      /^2h 0m ahead of this host's, MAX_CLOCK_SKEW is 5m 0s$/,
    );
    expect(rowOf(ended, "ipmi", "clock")?.detail).toMatch(/^40d 0h behind this host's, /);
  });

  it("that is off fails where it is required", async () => {
    await using lab = await actionLab();
    lab.redfish.manager.clockSkewMs = -HOUR_MS;

    const ended = await runAction("check", {
      env: { ...lab.env("redfish"), REQUIRE: "clock,power", OUTPUT: "table" },
    });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "verify" });
    expect(resultOf(ended).message).toMatch(/^clock: redfish: (59m \d+s|1h 0m) behind this host's, /);
    expect(ended.code).toBe(15);
    expect(rowOf(ended, "redfish", "clock")?.state).toBe("failed");
    expect(statesOf(ended, "redfish")).toMatchObject({ inventory: "ok" });
    expect(ended.stdout).toMatch(/^ +clock +failed +\d+ +/m);
  });

  it("may be off as far as MAX_CLOCK_SKEW says", async () => {
    await using lab = await actionLab();
    lab.redfish.manager.clockSkewMs = -HOUR_MS;

    const ended = await runAction("check", {
      env: { ...lab.env("redfish"), REQUIRE: "clock", MAX_CLOCK_SKEW: "2h" },
    });

    expect(rowOf(ended, "redfish", "clock")?.state).toBe("ok");
    expect(ended.code).toBe(0);
  });

  it("that is right with one provider is what is required", async () => {
    await using lab = await actionLab();
    lab.redfish.manager.clockSkewMs = HOUR_MS;

    const ended = await runAction("check", { env: { ...lab.env(...both), REQUIRE: "clock" } });

    expect(rowOf(ended, "redfish", "clock")?.state).toBe("failed");
    expect(rowOf(ended, "ipmi", "clock")?.state).toBe("ok");
    expect(resultOf(ended).message).toMatch(/^all 2 required checks passed; /);
  });

  it("that was never set does not know the time", async () => {
    await using lab = await actionLab({ ipmi: { clockSeconds: 3_600 } });

    const ended = await runAction("check", { env: lab.env("ipmi") });

    expect(rowOf(ended, "ipmi", "clock")).toMatchObject({
      state: "unsupported",
      detail: "the BMC does not know the time",
    });
  });
});

describe("the skew of a clock", () => {
  const atMs = Date.UTC(2026, 0, 1);

  it("is measured from the middle of the round trip, and half of it is allowed for", () => {
    const reading = { bmcMs: atMs + 1_001, beforeMs: atMs, afterMs: atMs + 2_002 };

    const skew = clockSkew(reading);

    expect(skew).toEqual({ skewMs: 0, uncertaintyMs: 1_001 });
    expect(exceeds(clockSkew({ ...reading, bmcMs: reading.bmcMs + 1_301 }), 300)).toBe(false);
    expect(exceeds(clockSkew({ ...reading, bmcMs: reading.bmcMs + 1_302 }), 300)).toBe(true);
    expect(exceeds(clockSkew({ ...reading, bmcMs: reading.bmcMs - 1_302 }), 300)).toBe(true);
  });

  it("of a clock that reports whole seconds leaves half a second open", () => {
    const skew = clockSkew({ bmcMs: atMs, beforeMs: atMs + 400, afterMs: atMs + 600 });

    expect(skew).toEqual({ skewMs: 0, uncertaintyMs: 600 });
    expect(describeSkew(skew)).toBe("within 0.6 s of this host's");
  });

  it.each([
    [0, "0.0 s"],
    [59_900, "59.9 s"],
    [61_000, "1m 1s"],
    [2 * HOUR_MS + 3 * 60_000 + 59_000, "2h 3m"],
    [30 * DAY_MS, "30d 0h"],
  ])("of %d ms reads as %s", (ms, text) => {
    expect(describeSpan(ms)).toBe(text);
  });
});

function certificateFor(days: number) {
  return createCertificate({
    commonName: "Redfish BMC",
    altNames: ["127.0.0.1"],
    notBefore: new Date(Date.now() - 400 * DAY_MS),
    notAfter: new Date(Date.now() + days * DAY_MS + HOUR_MS),
  });
}

describe.concurrent("a BMC's certificate", () => {
  it.each([
    [100, "ok", /^expires in 100 days, on \d{4}-\d\d-\d\d$/],
    [12, "warning", /^expires in 12 days, on /],
    [-3, "warning", /^expired 2d 2[23]h ago, on /],
  ])("that has %d days left is %s", async (days, state, detail) => {
    await using lab = await actionLab({ redfish: { tls: certificateFor(days) } });

    const ended = await runAction("check", { env: { ...lab.env("redfish"), BMC_TLS_VERIFY: "false" } });

    expect(resultOf(ended)).toMatchObject({ ok: true });
    expect(rowOf(ended, "redfish", "certificate")).toMatchObject({ state, roundTrips: 0 });
    expect(rowOf(ended, "redfish", "certificate")?.detail).toMatch(detail);
  });

  it("that is about to expire fails where it is required", async () => {
    await using lab = await actionLab({ redfish: { tls: certificateFor(12) } });
    const env = { ...lab.env("redfish"), BMC_TLS_FINGERPRINT: lab.redfish.fingerprint };

    const ended = await runAction("check", { env: { ...env, REQUIRE: "certificate" } });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "tls" });
    expect(resultOf(ended).message).toMatch(/^certificate: redfish: expires in 12 days/);
    expect(ended.code).toBe(12);
  });

  it.each([both, ["ipmi", "redfish"] as const])(
    "that is not trusted fails the check, with %s and %s",
    async (first, second) => {
      await using lab = await actionLab({ redfish: { tls: certificateFor(100) } });

      const ended = await runAction("check", { env: lab.env(first, second) });

      expect(rowOf(ended, "redfish", "login")).toMatchObject({ state: "failed", class: "tls" });
      expect(resultOf(ended)).toMatchObject({ ok: false, class: "tls" });
      expect(resultOf(ended).message).toMatch(/^redfish: TLS with .* failed: self-signed certificate/);
      expect(ended.code).toBe(12);
      expect(lab.redfish.requests).toEqual([]);
      if (second === "ipmi") {
        expect(lab.ipmi.received).toBe(0);
        expect(rowOf(ended, "ipmi", "login")?.detail).toBe(
          "TLS with redfish failed, and tls.fallback does not allow another provider",
        );
      }
    },
  );

  it("that is not trusted leaves the other provider where the entry allows to fall back", async () => {
    await using lab = await actionLab({ redfish: { tls: certificateFor(100) } });

    const ended = await runAction("check", { env: { ...lab.env(...both), BMC_TLS_FALLBACK: "true" } });

    expect(rowOf(ended, "redfish", "login")).toMatchObject({ state: "failed", class: "tls" });
    expect(resultOf(ended).message).toMatch(
      /^all 3 required checks passed; redfish: TLS failed, ipmi: \d+ of \d+ \(1 warning\)$/,
    );
  });
});

describe.concurrent("a check that is cut short", () => {
  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("by %s logs out and tries no other provider", async (signal, code) => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind: "silent", path: /Managers/, times: 100 });
    const action = new ActionRun("check", {
      env: { ...lab.env(...both), REDFISH_AUTH: "session", OUTPUT: "table" },
    });
    await eventually(() => lab.redfish.log.some((line) => line.includes("Managers")));
    expect(lab.redfish.sessions.count).toBe(1);

    action.kill(signal);
    const ended = await action.ended;

    expect(resultOf(ended)).toMatchObject({
      ok: false,
      class: "cancelled",
      message: `cancelled by ${signal}`,
    });
    expect(resultOf(ended)).not.toHaveProperty("data");
    expect(ended.code).toBe(code);
    expect(lab.redfish.log.filter((line) => line.startsWith("DELETE"))).toHaveLength(1);
    expect(lab.redfish.sessions.count).toBe(0);
    expect(lab.ipmi.received).toBe(0);
  });

  it("by SIGTERM ends the session of the second provider, too", async () => {
    await using lab = await actionLab();
    lab.ipmi.faults.ignores = (name) => name === "Get SEL Time";
    const action = new ActionRun("check", { env: { ...lab.env(...both), REDFISH_AUTH: "session" } });
    await eventually(() => lab.ipmi.log.includes("Get SEL Time"));
    expect(lab.redfish.sessions.count).toBe(0);
    expect(lab.ipmi.sessions()).toBe(1);

    action.kill("SIGTERM");
    const ended = await action.ended;

    expect(ended.code).toBe(143);
    await eventually(() => lab.ipmi.sessions() === 0);
  });
});
