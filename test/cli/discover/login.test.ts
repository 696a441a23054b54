import { describe, expect, it } from "vitest";
import type { FoundBmc } from "../../../cli/discover/bmc.ts";
import type { Candidate } from "../../../cli/discover/candidates.ts";
import { type LoginOptions, tryLogins } from "../../../cli/discover/login.ts";
import { discoveredFields } from "../../../cli/discover/result.ts";
import { systemClock } from "../../../shared/clock.ts";
import { hiddenProgress } from "../../../shared/progress-lines.ts";
import { Secret } from "../../../shared/secret.ts";
import { createCertificate } from "../../../simulators/certificate.ts";
import { startRack } from "./discover-lab.ts";

const candidates = (...passwords: readonly string[]): readonly Candidate[] =>
  passwords.map((password, index) => ({
    number: index + 1,
    source: { username: "admin", passwordFile: `/secrets/${index + 1}` },
    username: "admin",
    password: new Secret(password),
  }));

function login(found: readonly FoundBmc[], tried: readonly Candidate[], more: Partial<LoginOptions> = {}) {
  const options = {
    attempts: 2,
    trustOnFirstUse: true,
    concurrency: 10,
    timeoutMs: 20_000,
    clock: systemClock,
    lines: hiddenProgress(),
    ...more,
  };
  return tryLogins(found, tried, options, AbortSignal.timeout(120_000));
}

const LOGIN = "POST /redfish/v1/SessionService/Sessions";

describe("a login", () => {
  it("tries the credentials in their order, each once, and reads the machine", async () => {
    await using rack = await startRack();
    const bmc = await rack.redfish(2);
    const found = await rack.scan([2]);

    const [result] = await login(found, candidates("wrong", "calvin", "other"));

    expect(result).toMatchObject({
      state: "accepted",
      provider: "redfish",
      candidate: { number: 2 },
      machine: {
        serial: expect.any(String),
        macs: expect.arrayContaining([expect.stringMatching(/^(\w\w:){5}\w\w$/)]),
      },
    });
    expect(bmc.log.filter((line) => line === LOGIN)).toHaveLength(2);
    expect(bmc.refusedCredentials).toBe(1);
    expect(bmc.requests.some(({ headers }) => headers.authorization)).toBe(false);
    expect(bmc.sessions.count).toBe(0);
    const fields = JSON.stringify(
      discoveredFields({ ...found[0], host: "h", ...(result ? { login: result } : {}) }),
    );
    expect(fields).toContain('"credentials":2');
    expect(fields).not.toContain("calvin");
  });

  it.each([1, 2])("stops after %i refused attempts", async (attempts) => {
    await using rack = await startRack();
    const [redfish, ipmi, amt] = [await rack.redfish(2), await rack.ipmi(3), await rack.amt(4)];
    const found = await rack.scan([2, 3, 4]);

    const results = await login(found, candidates("wrong", "wronger", "calvin"), { attempts });

    expect(results).toEqual(
      ["redfish", "ipmi", "amt"].map((provider) => ({ state: "refused", provider, attempts })),
    );
    expect(redfish.refusedCredentials).toBe(attempts);
    // A message that was sent again is the same attempt.
    const handshakes = ipmi.log.filter((name, index) => name === "RAKP1" && ipmi.log[index - 1] !== name);
    expect(handshakes).toHaveLength(attempts);
    expect(amt.guard.refused).toBe(attempts);
  });

  it("uses one provider of a BMC that has several", async () => {
    await using rack = await startRack();
    const [redfish, ipmi] = [await rack.redfish(2), await rack.ipmi(2)];
    const found = await rack.scan([2]);

    await login(found, candidates("wrong", "wronger"));

    expect(redfish.refusedCredentials).toBe(2);
    expect(ipmi.log).not.toContain("RAKP1");
  });

  it.each<["silent" | "close-after"]>([["silent"], ["close-after"]])(
    "is not repeated when its answer is lost: %s",
    async (kind) => {
      await using rack = await startRack();
      const bmc = await rack.redfish(2);
      const found = await rack.scan([2]);
      bmc.fail({ method: "POST", kind });

      const results = login(found, candidates("calvin", "other"));
      await expect.poll(() => bmc.log.includes(LOGIN), { timeout: 60_000 }).toBe(true);
      if (kind === "silent") await bmc.close();

      expect(await results).toMatchObject([{ state: "failed", provider: "redfish" }]);
      expect(bmc.log.filter((line) => line === LOGIN)).toHaveLength(1);
    },
  );

  it("sends nothing to a certificate that no authority verifies, unless it is told to", async () => {
    await using rack = await startRack();
    const [redfish, amt] = [await rack.redfish(2), await rack.amt(3)];
    const found = await rack.scan([2, 3]);
    redfish.forget();

    const results = await login(found, candidates("calvin"), { trustOnFirstUse: false });

    expect(results).toEqual([
      { state: "skipped", problem: "its certificate is not verified" },
      { state: "skipped", problem: "it has no certificate" },
    ]);
    expect(redfish.connections).toBe(0);
    expect(amt.guard.challenges).toBe(1);
  });

  it("uses IPMI instead, where the BMC proves first that it knows the password", async () => {
    await using rack = await startRack();
    const redfish = await rack.redfish(2);
    await rack.ipmi(2);
    const found = await rack.scan([2]);
    redfish.forget();

    const results = await login(found, candidates("calvin"), { trustOnFirstUse: false });

    expect(results).toMatchObject([
      { state: "accepted", provider: "ipmi", machine: { vendor: "Example", serial: "SYS-1", macs: [] } },
    ]);
    expect(redfish.connections).toBe(0);
  });

  it("sends nothing to another certificate than the scan showed", async () => {
    await using rack = await startRack();
    const bmc = await rack.redfish(2);
    const found = await rack.scan([2]);
    await bmc.close();
    const other = await rack.redfish(2, { tls: createCertificate({ commonName: "attacker" }) });

    const results = await login(found, candidates("calvin"));

    expect(results).toMatchObject([{ state: "failed", problem: expect.stringContaining("fingerprint") }]);
    expect(other.requests).toEqual([]);
  });

  it("is tried once at a BMC with two addresses", async () => {
    await using rack = await startRack();
    const tls = createCertificate({ commonName: "bmc-1" });
    const [one, other] = [await rack.redfish(2, { tls }), await rack.redfish(3, { tls })];
    const found = await rack.scan([2, 3]);

    const results = await login(found, candidates("wrong"));

    expect(results).toEqual([
      { state: "refused", provider: "redfish", attempts: 1 },
      { state: "skipped", problem: `is the BMC of ${rack.at(2)}`, sameAs: rack.at(2) },
    ]);
    expect([one.refusedCredentials, other.refusedCredentials]).toEqual([1, 0]);
  });

  it("counts as accepted if the machine cannot be read", async () => {
    await using rack = await startRack();
    const bmc = await rack.redfish(2);
    const found = await rack.scan([2]);
    bmc.fail({ path: /EthernetInterfaces/, kind: "refuse", status: 403 });

    const [result] = await login(found, candidates("calvin", "other"));

    expect(result).toMatchObject({ state: "accepted", candidate: { number: 1 } });
    expect(bmc.log.filter((line) => line === LOGIN).length).toBeLessThanOrEqual(2);
    expect(bmc.refusedCredentials).toBe(0);
  });
});
