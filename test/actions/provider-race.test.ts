import { describe, expect, it } from "vitest";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, REFUSING_PORT, tcpBlackHole, udpBlackHole } from "./lab.ts";

/** Half of what waiting for the dead provider's time-outs or head start would take. */
const WELL_BELOW_MS = 15_000;
const patient = { BMC_CONNECT_TIMEOUT: "30s", BMC_REQUEST_TIMEOUT: "30s" };

describe.concurrent("a dead provider does not hold up a live one", () => {
  it("when Redfish takes connections and never answers", async () => {
    await using lab = await actionLab({ machine: { power: "off" } });
    await using hole = await tcpBlackHole();
    const env = { ...lab.env("redfish", "ipmi"), ...patient, BMC_HEAD_START: "200ms" };

    const ended = await runAction("power-on", { env: { ...env, REDFISH_PORT: String(hole.port) } });

    expect(resultOf(ended)).toMatchObject({ ok: true, provider: "ipmi", after: "on" });
    expect(resultOf(ended).durationMs).toBeLessThan(WELL_BELOW_MS);
    expect(lab.done()).toEqual(["on"]);
  });

  it("when Redfish takes connections and never answers the TLS handshake", async () => {
    await using lab = await actionLab({ machine: { power: "off" } });
    await using hole = await tcpBlackHole();
    const env = { ...lab.env("redfish", "ipmi"), ...patient, BMC_HEAD_START: "200ms" };

    const ended = await runAction("power-on", {
      env: { ...env, REDFISH_SCHEME: "https", REDFISH_PORT: String(hole.port) },
    });

    expect(resultOf(ended)).toMatchObject({ ok: true, provider: "ipmi" });
    expect(resultOf(ended).durationMs).toBeLessThan(WELL_BELOW_MS);
  });

  it("when Redfish is tried again and does not answer then, which costs not even the head start", async () => {
    await using lab = await actionLab({ machine: { power: "off" } });
    await using hole = await tcpBlackHole(1);
    const env = { ...lab.env("redfish", "ipmi"), ...patient, BMC_HEAD_START: "60s" };

    const ended = await runAction("power-on", { env: { ...env, REDFISH_PORT: String(hole.port) } });

    expect(resultOf(ended)).toMatchObject({ ok: true, provider: "ipmi" });
    expect(resultOf(ended).durationMs).toBeLessThan(WELL_BELOW_MS);
  });

  it("when Redfish refuses connections, which costs not even the head start", async () => {
    await using lab = await actionLab({ machine: { power: "off" } });
    const env = { ...lab.env("redfish", "ipmi"), ...patient, BMC_HEAD_START: "60s" };

    const ended = await runAction("power-on", { env: { ...env, REDFISH_PORT: String(REFUSING_PORT) } });

    expect(resultOf(ended)).toMatchObject({ ok: true, provider: "ipmi" });
    expect(resultOf(ended).durationMs).toBeLessThan(WELL_BELOW_MS);
    expect(lab.done()).toEqual(["on"]);
  });

  it("when IPMI never answers", async () => {
    await using lab = await actionLab({ machine: { power: "off" } });
    await using hole = await udpBlackHole();
    const env = { ...lab.env("ipmi", "redfish"), ...patient, BMC_HEAD_START: "200ms" };

    const ended = await runAction("power-on", { env: { ...env, IPMI_PORT: String(hole.port) } });

    expect(resultOf(ended)).toMatchObject({ ok: true, provider: "redfish", after: "on" });
    expect(resultOf(ended).durationMs).toBeLessThan(WELL_BELOW_MS);
    expect(lab.done()).toEqual(["on"]);
  });

  it("when nothing listens on the IPMI port, which costs not even the head start", async () => {
    await using lab = await actionLab({ machine: { power: "off" } });
    const env = { ...lab.env("ipmi", "redfish"), ...patient, BMC_HEAD_START: "60s" };

    const ended = await runAction("power-on", { env: { ...env, IPMI_PORT: String(REFUSING_PORT) } });

    expect(resultOf(ended)).toMatchObject({ ok: true, provider: "redfish" });
    expect(resultOf(ended).durationMs).toBeLessThan(WELL_BELOW_MS);
  });
});

describe.concurrent("when no provider gets through", () => {
  it("the reason of each is reported", async () => {
    await using lab = await actionLab();
    const port = String(REFUSING_PORT);

    const ended = await runAction("power-on", {
      env: { ...lab.env("redfish", "ipmi"), REDFISH_PORT: port, IPMI_PORT: port },
    });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "unreachable" });
    expect(resultOf(ended).message).toMatch(/redfish: .*refused.*; ipmi: |ipmi: .*refused.*; redfish: /);
    expect(resultOf(ended)).not.toHaveProperty("provider");
    expect(ended.code).toBe(11);
  });

  it("a certificate that is not the pinned one ends the search, with exit code 12", async () => {
    await using lab = await actionLab({ redfish: { tls: undefined } });

    const ended = await runAction("power-status", {
      env: { ...lab.env("redfish", "ipmi"), BMC_TLS_FINGERPRINT: "ab".repeat(32), BMC_HEAD_START: "30s" },
    });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "tls" });
    expect(resultOf(ended).message).toMatch(
      new RegExp(`accept it with BMC_TLS_FINGERPRINT=${lab.redfish.fingerprint}$`),
    );
    expect(ended.code).toBe(12);
  });

  it("a refused password ends the search, so that no account is locked", async () => {
    await using lab = await actionLab();

    const ended = await runAction("power-on", {
      env: { ...lab.env("redfish", "ipmi"), BMC_PASSWORD: "wrong", BMC_HEAD_START: "30s" },
    });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "auth" });
    expect(resultOf(ended).message).toMatch(/^redfish: /);
    // A slow machine makes Redfish look silent, so that IPMI starts beside it; race.test.ts has the order.
    expect(lab.redfish.refusedCredentials).toBe(1);
  });
});
