import { describe, expect, it } from "vitest";
import { type RedfishProfile, redfishProfile } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, eventually } from "./lab.ts";

function biosLab(bios: Partial<RedfishProfile["bios"]> = {}) {
  const generic = redfishProfile("generic");
  const profile = { ...generic, bios: { ...generic.bios, attributes: {}, ...bios } };
  return actionLab({ machine: { power: "on" }, redfish: { profile } });
}

type Lab = Awaited<ReturnType<typeof biosLab>>;

function setBios(lab: Lab, BIOS_ATTRIBUTES: string, more: Readonly<Record<string, string>> = {}) {
  return runAction("set-bios", { env: { ...lab.env("redfish"), BIOS_ATTRIBUTES, ...more } });
}

describe.concurrent("set-bios", () => {
  it.each(["generic", "dell-idrac9", "dell-13g", "dell-idrac10", "lenovo-sr655"])(
    "sets values that the next boot of a %s machine applies, and sends nothing a second time",
    async (profile) => {
      await using lab = await actionLab({ machine: { power: "on" }, redfish: { profile } });
      const asked = "ProcTurboMode=Disabled, bootmode=legacy bios, NumCores=8, SerialConsole=TRUE";

      const first = await setBios(lab, asked);
      const sent = lab.writes().length;
      const again = await setBios(lab, asked);
      lab.machine.do("reset");
      const booted = await setBios(lab, asked);

      const values = "ProcTurboMode=Disabled, BootMode=Bios, NumCores=8, SerialConsole=true";
      expect(resultOf(first)).toMatchObject({
        message: `${values}, in effect after the next boot via redfish`,
        before: { attributes: { NumCores: 16 }, pending: {} },
        after: { attributes: { NumCores: 16 }, pending: { NumCores: 8, SerialConsole: true } },
        changed: true,
        data: { validated: true },
      });
      expect(resultOf(again)).toMatchObject({ ok: true, changed: false });
      expect(resultOf(booted)).toMatchObject({ message: `already ${values} via redfish`, changed: false });
      expect(lab.machine.bios.attributes).toMatchObject({ BootMode: "Bios", SerialConsole: true });
      expect(lab.writes()).toHaveLength(sent);
    },
  );

  it.each([
    ["ProcTurboMod=Disabled", "the BIOS has no ProcTurboMod, did you mean ProcTurboMode?"],
    ["NumCores=many", "NumCores is a whole number, not many"],
    ["NumCores=64", "NumCores is 2 to 32, not 64"],
    ["NumCores=7", "NumCores is 2 plus a multiple of 2, not 7"],
    ["SerialConsole=1", "SerialConsole is true or false, not 1"],
    ["BootMode=Grub", "BootMode is Uefi, Bios, not Grub"],
    ["AssetTag=123456789", "AssetTag has 0 to 8 characters"],
    ["SystemServiceTag=X", "SystemServiceTag is read-only"],
    ["NumCores=8, numcores=4", "NumCores is given twice"],
    [
      "SetupPassword=canary",
      "SetupPassword is a password, which a template must not hold: set it in the BIOS or with the vendor's tool",
    ],
    [
      "SysProfile=Performance, ProcTurboMode=Disabled, SerialConsole=true",
      "ProcTurboMode is read-only because of SysProfile; SerialConsole is without effect because of SysProfile",
    ],
    ["Nope=1, NumCores=1", "the BIOS has no Nope; NumCores is 2 to 32, not 1"],
  ])("refuses %s before anything is sent", async (asked, problem) => {
    await using lab = await biosLab();

    const ended = await setBios(lab, asked);

    expect(resultOf(ended)).toMatchObject({ class: "usage", message: `redfish: ${problem}` });
    expect(lab.writes()).toEqual([]);
  });

  it("takes an attribute back that another one made read-only, in one request", async () => {
    await using lab = await biosLab();
    await setBios(lab, "SysProfile=PerfOptimized");

    const ended = await setBios(lab, '{"SysProfile": "Custom", "ProcTurboMode": "Disabled"}');

    expect(resultOf(ended)).toMatchObject({ ok: true, after: { pending: { ProcTurboMode: "Disabled" } } });
  });

  it.each(["", "NumCores", "=1", "{}", "[]", '{"A": null}', '{"__proto__": 1}', "AssetTag=a,b", "A=1,A=2"])(
    "does not take %j as attributes",
    async (asked) => {
      await using lab = await biosLab();

      const ended = await setBios(lab, asked);

      expect(resultOf(ended).class).toBe("usage");
      expect(lab.traffic()).toBe(0);
    },
  );

  it("takes values with commas on lines of their own", async () => {
    await using lab = await biosLab();

    const ended = await setBios(lab, "AssetTag=a,b\nNumCores=8");

    expect(resultOf(ended)).toMatchObject({ after: { pending: { AssetTag: "a,b", NumCores: 8 } } });
  });

  it("waits for the boot that applies the values", async () => {
    await using lab = await biosLab();

    const waiting = setBios(lab, "NumCores=8", { WAIT: "true" });
    await eventually(() => lab.machine.bios.scheduled);
    lab.machine.do("reset");

    expect(resultOf(await waiting)).toMatchObject({
      message: "NumCores=8, in effect via redfish",
      after: { attributes: { NumCores: 8 }, pending: {} },
    });
  });

  it("names the values that are not in effect in time", async () => {
    await using lab = await biosLab();

    const ended = await setBios(lab, "NumCores=8, BootMode=Uefi", { WAIT: "true", WAIT_TIMEOUT: "1s" });

    expect(resultOf(ended)).toMatchObject({
      class: "verify",
      message: "redfish: not in effect after 1.0 s: the BIOS has NumCores=16",
    });
  });

  it("applies values at once where the BMC offers it", async () => {
    await using lab = await biosLab({ applyTimes: ["Immediate", "OnReset"] });

    const ended = await setBios(lab, "NumCores=8", { APPLY_TIME: "immediate" });

    expect(resultOf(ended).message).toBe("NumCores=8, in effect via redfish");
  });

  it("does not follow the BMC's task, which waits for the boot", async () => {
    await using lab = await actionLab({ redfish: { tasks: { ms: 600_000 } } });

    const ended = await setBios(lab, "NumCores=8");

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: true });
  });

  it("says which apply times the BMC offers instead", async () => {
    await using lab = await biosLab({ applyTimes: ["OnReset"] });

    const ended = await setBios(lab, "NumCores=8", { APPLY_TIME: "immediate" });

    expect(resultOf(ended)).toMatchObject({
      class: "unsupported",
      message: "redfish: the BMC does not apply BIOS attributes at once; it offers OnReset",
    });
    expect(lab.writes()).toEqual([]);
  });

  it("sets values where the BMC has no settings for the next boot", async () => {
    await using lab = await biosLab({ settings: false });

    const ended = await setBios(lab, "NumCores=8");

    expect(resultOf(ended).message).toBe("NumCores=8, in effect via redfish");
  });

  it("creates the job that an earlier run of the action did not get to", async () => {
    await using lab = await actionLab({ redfish: { profile: "dell-13g" } });
    lab.machine.bios.pending = { NumCores: 8 };

    const ended = await setBios(lab, "NumCores=8");

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: true });
    expect(lab.writes()).toEqual(["POST /redfish/v1/Managers/iDRAC.Embedded.1/Jobs"]);
  });

  it("checks only names and types without a registry, and says so", async () => {
    await using lab = await biosLab({ registry: false });

    const ended = await setBios(lab, "NumCores=64");
    const refused = await setBios(lab, "NumCores=x, Nope=1");

    expect(resultOf(ended)).toMatchObject({
      message:
        "NumCores=64, in effect after the next boot (not checked: the BMC offers no attribute registry that can be read) via redfish",
      data: { validated: false },
    });
    expect(resultOf(refused).message).toBe(
      "redfish: NumCores is a whole number, not x; the BIOS has no Nope",
    );
  });

  it("takes attributes that the registry lacks with the type of their value", async () => {
    await using lab = await biosLab();
    lab.machine.bios.attributes = { ...lab.machine.bios.attributes, Fans: 1, Zone: "a" };

    const ended = await setBios(lab, "Fans=2, Zone=b");

    expect(resultOf(ended)).toMatchObject({ after: { pending: { Fans: 2, Zone: "b" } } });
  });

  it("says in a dry run what it would send", async () => {
    await using lab = await actionLab({ redfish: { profile: "dell-13g" } });

    const ended = await setBios(lab, "NumCores=8", { DRY_RUN: "true" });

    const bios = "/redfish/v1/Systems/System.Embedded.1/Bios/Settings";
    expect(resultOf(ended)).toMatchObject({
      data: {
        wouldSend: [
          `PATCH ${bios} {"Attributes":{"NumCores":8}}`,
          `POST /redfish/v1/Managers/iDRAC.Embedded.1/Jobs {"TargetSettingsURI":"${bios}"}`,
        ],
      },
    });
    expect(lab.writes()).toEqual([]);
  });
});

describe.concurrent("get-bios", () => {
  it("lists attributes by name and wildcard, with what is pending", async () => {
    await using lab = await biosLab();
    lab.machine.bios.pending = { NumCores: 8 };

    const ended = await runAction("get-bios", {
      env: { ...lab.env("redfish"), ATTRIBUTES: "numcores, *mode, *p*w*" },
    });

    expect(resultOf(ended)).toMatchObject({
      message: "3 BIOS attributes, 1 pending via redfish",
      data: {
        attributes: { BootMode: "Uefi", ProcTurboMode: "Enabled", NumCores: 16 },
        pending: { NumCores: 8 },
        registry: "BiosAttributeRegistry.v1_0_0",
      },
    });
  });

  it("shows a table, without passwords", async () => {
    await using lab = await biosLab();
    lab.machine.bios.attributes = { NumCores: 16, SetupPassword: "canary" };
    lab.machine.bios.pending = { NumCores: 8, SetupPassword: "canary" };

    const ended = await runAction("get-bios", { env: { ...lab.env("redfish"), OUTPUT: "table" } });

    expect(ended.stdout).toMatch(/attribute +now +after the next boot\n[- ]+\nNumCores +16 +8\n/);
    expect(ended.stdout).not.toContain("canary");
  });

  it("suggests a name for one that the BIOS lacks", async () => {
    await using lab = await biosLab();

    const ended = await runAction("get-bios", { env: { ...lab.env("redfish"), ATTRIBUTES: "NumCore" } });

    expect(resultOf(ended).message).toBe("the BIOS has no NumCore, did you mean NumCores?");
  });
});

describe.concurrent("reset-bios", () => {
  it("resets the attributes at the next boot", async () => {
    await using lab = await biosLab();
    lab.machine.bios.attributes = { ...lab.machine.bios.attributes, NumCores: 4 };

    const ended = await runAction("reset-bios", { env: lab.env("redfish") });
    lab.machine.do("reset");

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: true });
    expect(lab.machine.bios.attributes).toMatchObject({ NumCores: 16 });
  });

  it("is sent once, although the answer is lost", async () => {
    await using lab = await biosLab();
    lab.redfish.fail({ kind: "close-after", method: "POST" });

    const ended = await runAction("reset-bios", { env: lab.env("redfish") });

    expect(resultOf(ended).message).toContain("the BIOS may have been reset and is not sent again");
    expect(lab.writes()).toHaveLength(1);
  });
});
