import { describe, expect, test } from "vitest";
import type { NtpRequest, NtpSettings } from "../../../../shared/bmc/operations/ntp.ts";
import { planNtp, setNtp } from "../../../../shared/bmc/operations/ntp.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";

const before: NtpSettings = { enabled: true, servers: ["a.example.org", "b.example.org"] };

/** A BMC whose settings read so in turn, the last of it for ever, and what it was sent. */
function bmcThatReads(...readings: readonly [NtpSettings, ...NtpSettings[]]) {
  const left = [...readings];
  const written: NtpRequest[] = [];
  return {
    written,
    read: async () => (left.length > 1 ? left.shift() : left[0]) ?? before,
    plan: async (request: NtpRequest) => JSON.stringify(request),
    async write(request: NtpRequest) {
      written.push(request);
    },
    hasDhcp: async (): Promise<boolean | undefined> => undefined,
    sleep: async () => undefined,
  };
}

describe("time servers", () => {
  test("are sent without repeats", async () => {
    const bmc = bmcThatReads(before, { enabled: true, servers: ["C.example.org", "d"] });

    const report = await setNtp(bmc, { enabled: true, servers: ["c.example.org", "d", "C.EXAMPLE.ORG"] });

    expect(bmc.written).toEqual([{ enabled: true, servers: ["c.example.org", "d"] }]);
    expect(report).toMatchObject({ changed: true, summary: "NTP on (c.example.org, d)" });
  });

  test("in another order are others: the order is the preference", async () => {
    const bmc = bmcThatReads(before, { ...before, servers: before.servers.toReversed() });

    expect(await setNtp(bmc, { enabled: true, servers: before.servers.toReversed() })).toMatchObject({
      changed: true,
    });
  });

  test("are left alone where none are given", async () => {
    const bmc = bmcThatReads(before, { ...before, enabled: false });

    const report = await setNtp(bmc, { enabled: false });

    expect(bmc.written).toEqual([{ enabled: false }]);
    expect(report.summary).toBe("NTP off (a.example.org, b.example.org)");
  });

  test("that a BMC forgets when NTP is switched off are a verification failure", async () => {
    const bmc = bmcThatReads(before, { enabled: false, servers: [] });

    await expect(setNtp(bmc, { enabled: false })).rejects.toMatchObject({
      class: "verify",
      message: "asked for NTP off (a.example.org, b.example.org), the BMC keeps NTP off",
    });
  });

  test("are waited for while the BMC applies them", async () => {
    const asked = { enabled: true, servers: ["c"] };
    const bmc = bmcThatReads(before, before, before, asked);

    expect(await setNtp(bmc, asked)).toMatchObject({ after: asked, changed: true });
    expect(bmc.written).toHaveLength(1);
  });

  test("that the BMC lists after the asked ones are named", async () => {
    const bmc = bmcThatReads(before, { enabled: true, servers: ["c", "d"] });

    const report = await setNtp(bmc, { enabled: true, servers: ["c"] });

    expect(report.summary).toBe("NTP on (c); the BMC also lists d, which DHCP may supply");
  });

  test("are not sent again beside those of DHCP", async () => {
    const bmc = { ...bmcThatReads({ enabled: true, servers: ["c", "d"] }), hasDhcp: async () => true };

    const report = await setNtp(bmc, { enabled: true, servers: ["c"] });

    expect(report.summary).toBe("already NTP on (c); the BMC also lists d, which DHCP may supply");
    expect(bmc.written).toEqual([]);
  });

  test.each([
    ["there is no DHCP", { enabled: true, servers: ["c", "d"] }, false],
    ["nothing changed", { enabled: true, servers: ["a.example.org", "b.example.org"] }, undefined],
  ] as const)("that the BMC does not remove are a verification failure if %s", async (_, after, hasDhcp) => {
    const bmc = { ...bmcThatReads(before, after), hasDhcp: async () => hasDhcp };

    await expect(setNtp(bmc, { enabled: true, servers: [after.servers[0]] })).rejects.toMatchObject({
      class: "verify",
      message: expect.stringContaining(`the BMC keeps NTP on (${after.servers.join(", ")})`),
    });
  });

  test("count, whatever became of the BMC's answer", async () => {
    const asked = { enabled: true, servers: ["c"] };
    const bmc = {
      ...bmcThatReads(before, asked),
      write: async () => {
        throw new BmcError("timeout", "no answer", { uncertain: true });
      },
    };

    expect(await setNtp(bmc, asked)).toMatchObject({ after: asked, changed: true });
  });

  test("that are so already are planned as nothing", async () => {
    expect(await planNtp(bmcThatReads(before), { enabled: true })).toEqual({ before, steps: [] });
    expect((await planNtp(bmcThatReads(before), { enabled: false })).steps).toEqual(['{"enabled":false}']);
  });
});
