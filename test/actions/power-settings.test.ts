import { describe, expect, it } from "vitest";
import { redfishProfile } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const generic = redfishProfile("generic");

function lab(profile: object = {}) {
  return actionLab({ redfish: { profile: { ...generic, ...profile } } });
}

describe.concurrent("set-power-restore-policy", () => {
  it.each([
    ["redfish", "always-on"],
    ["redfish", "last-state"],
    ["ipmi", "always-on"],
    ["ipmi", "last-state"],
  ] as const)("sets it once and reads it back: %s, %s", async (provider, RESTORE_POLICY) => {
    await using there = await lab();
    const env = { ...there.env(provider), RESTORE_POLICY };

    const ended = await runAction("set-power-restore-policy", { env });
    const again = await runAction("set-power-restore-policy", { env });

    expect(resultOf(ended)).toMatchObject({
      message: `power restore policy ${RESTORE_POLICY} via ${provider}`,
      before: "always-off",
      after: RESTORE_POLICY,
      changed: true,
    });
    expect(resultOf(again)).toMatchObject({
      message: `power restore policy already ${RESTORE_POLICY} via ${provider}`,
      changed: false,
    });
    expect(there.machine.restorePolicy).toBe(RESTORE_POLICY);
    expect(there.writes()).toHaveLength(1);
  });
});

describe.concurrent("set-power-limit", () => {
  it.each([
    ["redfish", "environment-metrics"],
    ["redfish", "power"],
    ["ipmi", "none"],
    ["redfish", "controls"],
  ] as const)("sets a limit, changes it and removes it: %s, %s", async (provider, powerLimit) => {
    await using there = await lab({ powerLimit });
    const run = async (POWER_LIMIT: string) => {
      const ended = await runAction("set-power-limit", { env: { ...there.env(provider), POWER_LIMIT } });
      return [resultOf(ended).message, there.machine.powerLimitWatts];
    };

    expect(await run("100")).toEqual([`power limit 100 W via ${provider}`, 100]);
    expect(await run("1000")).toEqual([`power limit 1000 W via ${provider}`, 1_000]);
    expect(await run("400")).toEqual([`power limit 400 W via ${provider}`, 400]);
    expect(await run("400")).toEqual([`already power limit 400 W via ${provider}`, 400]);
    expect(await run("500")).toEqual([`power limit 500 W via ${provider}`, 500]);
    expect(await run("none")).toEqual([`no power limit via ${provider}`, undefined]);
  });

  it("refuses what the BMC does not take, before anything is sent", async () => {
    await using there = await lab();
    const env = { ...there.env("redfish"), POWER_LIMIT: "5000" };

    const ended = await runAction("set-power-limit", { env });
    const planned = await runAction("set-power-limit", { env: { ...env, DRY_RUN: "true" } });

    for (const each of [ended, planned]) {
      expect(resultOf(each)).toMatchObject({
        class: "unsupported",
        message: "redfish: the BMC takes a power limit of 100 to 1000 W",
      });
    }
    expect(there.writes()).toEqual([]);
  });

  it("names the range's problem where the BMC refuses a limit", async () => {
    await using there = await lab();

    const ended = await runAction("set-power-limit", {
      env: { ...there.env("ipmi"), POWER_LIMIT: "5000" },
    });

    expect(resultOf(ended)).toMatchObject({ class: "unsupported" });
    expect(resultOf(ended).message).toContain("the power limit is out of the BMC's range");
  });

  it.each(["0", "-5", "4e2", "all"])("refuses %j", async (POWER_LIMIT) => {
    await using there = await lab();

    const ended = await runAction("set-power-limit", { env: { ...there.env("ipmi"), POWER_LIMIT } });

    expect(ended.code).toBe(2);
    expect(there.traffic()).toBe(0);
  });
});
