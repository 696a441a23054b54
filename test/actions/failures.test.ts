import { describe, expect, it } from "vitest";
import { redfishProfile } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, type LabOptions, TESTED_PROVIDERS } from "./lab.ts";

const setDisk = { DEVICE: "disk", PERSISTENT: "true", MODE: "uefi" };

describe.concurrent.each(TESTED_PROVIDERS)("via %s", (provider) => {
  it.each([
    { action: "power-on", power: "off", machine: { powerOnMs: 60_000 }, env: {}, sent: "on" },
    { action: "power-off", power: "on", machine: { powerOffMs: 60_000 }, env: { MODE: "hard" }, sent: "off" },
    { action: "power-cycle", power: "on", machine: { cycleOffMs: 60_000 }, env: {}, sent: "cycle" },
  ] as const)(
    "$action fails when the machine does not follow",
    async ({ action, power, machine, env, sent }) => {
      await using lab = await actionLab({ machine: { power, ...machine } });

      const ended = await runAction(action, { env: { ...lab.env(provider), STATE_TIMEOUT: "1s", ...env } });

      expect(resultOf(ended)).toMatchObject({ ok: false, class: "timeout", provider });
      expect(resultOf(ended).message).toMatch(
        new RegExp(`^${provider}: not o(n|ff) after (0.9|1.0) s, although`),
      );
      expect(ended.code).toBe(16);
      expect(lab.done()).toEqual([sent]);
    },
  );

  it.each([
    { state: "on", power: "off" },
    { state: "off", power: "on" },
  ] as const)("wait-for-power-state fails when the machine stays $power", async ({ state, power }) => {
    await using lab = await actionLab({ machine: { power } });

    const ended = await runAction("wait-for-power-state", {
      env: { ...lab.env(provider), STATE: state, STATE_TIMEOUT: "1s" },
    });

    expect(resultOf(ended)).toMatchObject({
      ok: false,
      class: "timeout",
      message: `${provider}: not ${state} after 1.0 s, it was ${power} at first`,
      provider,
    });
    expect(ended.code).toBe(16);
    expect(lab.writes()).toEqual([]);
  });

  it("power-reset of a machine that is off is an error of class state", async () => {
    await using lab = await actionLab({ machine: { power: "off" } });

    const ended = await runAction("power-reset", { env: lab.env(provider) });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "state" });
    expect(resultOf(ended).message).toMatch(new RegExp(`^${provider}: the machine is off`));
    expect(ended.code).toBe(17);
    expect(lab.done()).toEqual([]);
  });

  it.each([
    { action: "set-boot-device", env: setDisk, asked: "disk persistent (uefi)", kept: "none" },
    { action: "set-pxe-once", env: { MODE: "uefi" }, asked: "pxe once (uefi)", kept: "none" },
    { action: "set-disk-persistent", env: { MODE: "uefi" }, asked: "disk persistent (uefi)", kept: "none" },
    {
      action: "clear-boot-override",
      env: {},
      before: setDisk,
      asked: "none",
      kept: "disk persistent (uefi)",
    },
  ])("$action fails when the BMC says done and keeps $kept", async ({ action, env, before, asked, kept }) => {
    await using lab = await actionLab();
    if (before) await runAction("set-boot-device", { env: { ...lab.env(provider), ...before } });
    lab.redfish.fail({ kind: "forget", method: "PATCH", times: 10 });
    lab.ipmi.faults.refuses = (name) => (name === "Set System Boot Options" ? 0 : undefined);

    const ended = await runAction(action, { env: { ...lab.env(provider), ...env } });

    expect(resultOf(ended)).toMatchObject({
      ok: false,
      class: "verify",
      message: `${provider}: asked for ${asked}, the BMC keeps ${kept}`,
      provider,
    });
    expect(ended.code).toBe(15);
  });
});

function limitedTo(resetTypes: readonly string[]): LabOptions {
  const generic = redfishProfile("generic");
  return { redfish: { profile: { ...generic, resetTypes } } };
}

describe.concurrent("what a BMC does not offer", () => {
  it.each([
    ["power-on", ["ForceOff"], "off", {}],
    ["power-off", ["On", "GracefulShutdown"], "on", { MODE: "hard" }],
    ["power-off", ["On", "ForceOff"], "on", { MODE: "soft" }],
    ["power-cycle", ["ForceOff"], "on", {}],
    ["power-cycle", ["On"], "on", {}],
    ["power-reset", ["On", "ForceOff"], "on", {}],
  ] as const)(
    "makes %s of a BMC with only %j unsupported before anything is changed",
    async (action, offered, power, env) => {
      await using lab = await actionLab({ ...limitedTo(offered), machine: { power } });

      const ended = await runAction(action, { env: { ...lab.env("redfish"), ...env } });

      expect(resultOf(ended)).toMatchObject({ ok: false, class: "unsupported", provider: "redfish" });
      expect(ended.code).toBe(13);
      expect(lab.done()).toEqual([]);
      expect(lab.writes()).toEqual([]);
    },
  );
});
