import { afterEach, describe, expect, test } from "vitest";
import { matches } from "../../../../../shared/bmc/operations/boot.ts";
import type { BootRequest } from "../../../../../shared/bmc/operations/boot-port.ts";
import type { BootDevice } from "../../../../../shared/contract/vocabulary.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { type RedfishProfile, redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { errorOf, neverAborts, RecordingLogger, until, withSession } from "./open-session.ts";

const signal = neverAborts();
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(profile: string | RedfishProfile = "generic", machine: SimulatedMachineOptions = {}) {
  bmc = await startRedfishBmc({ profile, machines: [new SimulatedMachine(machine)] });
}

function generic(changes: Partial<RedfishProfile>): RedfishProfile {
  const base = redfishProfile("generic");
  return { ...base, ...changes };
}

function request(device: BootDevice, changes: Partial<BootRequest> = {}): BootRequest {
  return { device, persistent: false, mode: "keep", ...changes };
}

function write(asked: BootRequest, hint?: unknown) {
  return withSession(bmc, { hint }, async (session) => {
    await session.boot.write(asked, signal);
    return session.hint();
  });
}

const patches = () => bmc.requests.filter(({ method }) => method === "PATCH");
const sentBoot = () => patches().map(({ body }) => (body as { Boot: unknown }).Boot);

describe("reading", () => {
  test.each([
    [
      { device: "pxe", enabled: "once", mode: "uefi" },
      { device: "pxe", persistent: false, mode: "uefi" },
    ],
    [
      { device: "disk", enabled: "continuous", mode: "legacy" },
      { device: "disk", persistent: true, mode: "legacy" },
    ],
    [
      { device: "pxe", enabled: "disabled", mode: "uefi" },
      { device: "none", mode: "uefi" },
    ],
    [
      { device: "none", enabled: "disabled", mode: "uefi" },
      { device: "none", mode: "uefi" },
    ],
  ] as const)("%o is reported as %o", async (override, expected) => {
    await start();
    bmc.machine.override = override;

    const read = await withSession(bmc, {}, ({ boot }) => boot.read(signal));

    expect(read).toEqual(expected);
  });

  test("a mode that the BMC does not report is absent", async () => {
    await start("legacy-only");

    const read = await withSession(bmc, {}, ({ boot }) => boot.read(signal));

    expect(read).toEqual({ device: "none" });
  });

  test("an override that is used up by a boot is read as none", async () => {
    await start("generic", { power: "off", powerOnMs: 0 });

    const [before, after] = await withSession(bmc, {}, async ({ boot, power }) => {
      await boot.write(request("pxe"), signal);
      const written = await boot.read(signal);
      await power.send("on", signal);
      await until(() => bmc.machine.lastBoot !== undefined, "boot");
      return [written, await boot.read(signal)];
    });

    expect(before).toEqual({ device: "pxe", persistent: false, mode: "uefi" });
    expect(after).toEqual({ device: "none", mode: "uefi" });
    expect(bmc.machine.lastBoot).toMatchObject({ device: "pxe", overridden: true });
  });

  test("a system without an override is unsupported, as it is for a write", async () => {
    await start(generic({ bootTargets: [] }));

    const [reading, writing] = await withSession(bmc, {}, async ({ boot }) => [
      await errorOf(boot.read(signal)),
      await errorOf(boot.write(request("pxe"), signal)),
    ]);

    expect([reading, writing]).toMatchObject(
      Array(2).fill({ class: "unsupported", message: "the BMC offers no boot override" }),
    );
    expect(patches()).toEqual([]);
  });
});

describe("writing", () => {
  test.each<[BootDevice, string]>([
    ["pxe", "Pxe"],
    ["disk", "Hdd"],
    ["bios", "BiosSetup"],
    ["cdrom", "Cd"],
    ["diag", "Diags"],
    ["floppy", "Floppy"],
    ["usb", "Usb"],
    ["uefi-http", "UefiHttp"],
  ])("%s is the target %s, and only target and enabled are sent", async (device, target) => {
    await start();

    const plan = await withSession(bmc, {}, async ({ boot }) => {
      const planned = await boot.plan(request(device), signal);
      await boot.write(request(device), signal);
      return planned;
    });

    const Boot = { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: "Once" };
    expect(sentBoot()).toEqual([Boot]);
    expect(plan).toBe(`PATCH /redfish/v1/Systems/1 ${JSON.stringify({ Boot })}`);
    expect(bmc.machine.override).toMatchObject({ device, enabled: "once" });
  });

  test.each<[BootDevice, string, BootDevice]>([
    ["remote-drive", "RemoteDrive", "remote-drive"],
    ["sd-card", "SDCard", "sd-card"],
    ["utilities", "Utilities", "utilities"],
    // Second best, where the BMC lists no diagnostics.
    ["diag", "Utilities", "utilities"],
  ])("%s is the target %s where the BMC lists it, and is then read as %s", async (device, target, read) => {
    await start(generic({ bootTargets: ["None", "Pxe", "RemoteDrive", "SDCard", "Utilities"] }));

    const stored = await withSession(bmc, {}, async ({ boot }) => {
      await boot.write(request(device), signal);
      return boot.read(signal);
    });

    expect(sentBoot()).toEqual([{ BootSourceOverrideTarget: target, BootSourceOverrideEnabled: "Once" }]);
    expect(stored).toMatchObject({ device: read });
    expect(matches({ ...request(device), mode: "keep" }, stored)).toBe(true);
  });

  test("persistent is Continuous and none is Disabled with None", async () => {
    await start();

    await write(request("disk", { persistent: true }));
    const kept = bmc.machine.override;
    await write(request("none"));

    expect(kept).toMatchObject({ device: "disk", enabled: "continuous" });
    expect(sentBoot().at(-1)).toEqual({
      BootSourceOverrideTarget: "None",
      BootSourceOverrideEnabled: "Disabled",
    });
    expect(bmc.machine.override).toMatchObject({ device: "none", enabled: "disabled" });
  });

  test("a mode is sent only when it is asked for and differs", async () => {
    await start();

    await write(request("pxe", { mode: "uefi" }));
    await write(request("pxe", { mode: "legacy" }));

    expect(sentBoot()).toEqual([
      { BootSourceOverrideTarget: "Pxe", BootSourceOverrideEnabled: "Once" },
      {
        BootSourceOverrideTarget: "Pxe",
        BootSourceOverrideEnabled: "Once",
        BootSourceOverrideMode: "Legacy",
      },
    ]);
    expect(bmc.machine.override.mode).toBe("legacy");
  });

  test("values that are listed nowhere are still tried", async () => {
    await start(generic({ bootListing: false }));

    await write(request("pxe", { persistent: true }));

    expect(bmc.machine.override).toMatchObject({ device: "pxe", enabled: "continuous" });
  });

  test.each<[string, Partial<RedfishProfile>, BootRequest]>([
    ["a device that is not listed", { bootTargets: ["None", "Hdd"] }, request("pxe")],
    ["safe mode, which the standard does not have", {}, request("safe")],
    ["safe mode where nothing is listed", { bootListing: false }, request("safe")],
    [
      "a permanent override where only Once is listed",
      { bootEnabled: ["Once"] },
      request("pxe", { persistent: true }),
    ],
    ["a mode that is not listed", { bootModes: ["UEFI"] }, request("pxe", { mode: "legacy" })],
  ])("%s is unsupported before anything is sent", async (_, profile, asked) => {
    await start(generic(profile));

    const errors = await withSession(bmc, {}, async ({ boot }) => [
      await errorOf(boot.plan(asked, signal)),
      await errorOf(boot.write(asked, signal)),
    ]);

    expect(errors.map((error) => error.class)).toEqual(["unsupported", "unsupported"]);
    expect(patches()).toEqual([]);
  });

  test("a write that is refused is an error in the words of the BMC, after reading back", async () => {
    await start(generic({ bootListing: false, bootTargets: ["None", "Hdd"] }));

    const error = await withSession(bmc, {}, ({ boot }) => errorOf(boot.write(request("pxe"), signal)));

    expect(error.class).toBe("unsupported");
    expect(error.message).toContain("The value Pxe for the property BootSourceOverrideTarget");
    expect(bmc.log.at(-1)).toBe("GET /redfish/v1/Systems/1");
  });

  test("an override is cleared by its target alone where Disabled is refused", async () => {
    await start(generic({ bootListing: false, bootEnabled: ["Once", "Continuous"] }));
    await write(request("pxe"));

    const [before, after] = await withSession(bmc, {}, async ({ boot }) => {
      const first = await boot.read(signal);
      await boot.write(request("none"), signal);
      return [first, await boot.read(signal)];
    });

    expect([before?.device, after?.device]).toEqual(["pxe", "none"]);
    expect(sentBoot().slice(1)).toEqual([
      { BootSourceOverrideTarget: "None", BootSourceOverrideEnabled: "Disabled" },
      { BootSourceOverrideTarget: "None" },
    ]);
  });

  test("a busy BMC is not asked in another form", async () => {
    await start();
    bmc.fail({
      kind: "refuse",
      method: "PATCH",
      status: 400,
      messageId: "iLO.2.14.UnableToModifyDuringSystemPOST",
    });

    const error = await withSession(bmc, {}, ({ boot }) =>
      errorOf(boot.write(request("pxe", { mode: "legacy" }), signal)),
    );

    expect(error.class).toBe("busy");
    expect(patches()).toHaveLength(1);
  });
});

describe("entity tags", () => {
  test("If-Match is sent only after 428, and from the start in the next call", async () => {
    await start(generic({ ifMatch: "required" }));

    const hint = await write(request("pxe"));
    const first = patches().length;
    bmc.forget();
    await write(request("disk"), hint);

    expect(first).toBe(2);
    expect(patches()).toHaveLength(1);
    expect(patches()[0]?.headers["if-match"]).toMatch(/^"[0-9a-f]+"$/);
    expect(bmc.machine.override.device).toBe("disk");
  });

  test("a service that takes only the weak form of its strong tag gets it", async () => {
    await start("strict-etag");

    await write(request("pxe"));

    expect(patches().map(({ headers }) => headers["if-match"]?.slice(0, 2))).toEqual([
      undefined,
      expect.stringMatching(/^"/),
      expect.stringMatching(/^"/),
      "W/",
    ]);
    expect(bmc.machine.override.device).toBe("pxe");
  });

  test.each(["doubled", "gzip", "weak", "property"] as const)(
    "a tag sent %s is sent back as the service knows it",
    async (etagSent) => {
      await start(generic({ ifMatch: "required", etagSent }));

      await write(request("pxe"));

      expect(patches()).toHaveLength(2);
      expect(bmc.machine.override.device).toBe("pxe");
    },
  );

  test("a tag that is out of date is fetched again once", async () => {
    await start("lenovo-sr655", { power: "on", powerOffMs: 0 });

    await withSession(bmc, {}, async ({ boot }) => {
      bmc.machine.do("off");
      await until(() => bmc.machine.power === "off", "power off");
      await boot.write(request("pxe"), signal);
    });

    expect(patches()).toHaveLength(2);
    expect(bmc.machine.override.device).toBe("pxe");
  });

  test("a service that refuses every If-Match gets the request without, and that is remembered and logged", async () => {
    await start(generic({ ifMatch: "refused" }));
    const learned = {
      system: "/redfish/v1/Systems/1",
      manufacturer: "Contoso",
      model: "3500",
      learned: ["if-match-required"],
    };
    const log = new RecordingLogger();

    const hint = await withSession(bmc, { hint: learned, log }, async (session) => {
      await session.boot.write(request("pxe"), signal);
      return session.hint();
    });

    expect(bmc.machine.override.device).toBe("pxe");
    expect(hint).toMatchObject({ learned: ["if-match-refused"] });
    expect(log.messages("warn")).toEqual(["BMC answered 412 to If-Match, retrying once without it"]);
  });
});

test("a make that should need If-Match but refuses it is written without in the next call", async () => {
  const huawei = redfishProfile("huawei");
  await start({ ...huawei, ifMatch: "refused" });

  const hint = await write(request("pxe"));
  bmc.forget();
  await write(request("disk"), hint);

  expect(patches().map(({ headers }) => headers["if-match"])).toEqual([undefined]);
  expect(bmc.machine.override.device).toBe("disk");
});

describe("vendor quirks", () => {
  test("Dell iDRAC9: a mode it already has is not sent, which would queue a BIOS job", async () => {
    await start("dell-idrac9");

    await write(request("pxe", { mode: "uefi" }));

    expect(bmc.biosJobs).toBe(0);
    expect(bmc.machine.override).toMatchObject({ device: "pxe", mode: "uefi" });
  });

  test("Dell iDRAC10: the settings resource is written with its own tag, in one PATCH", async () => {
    await start("dell-idrac10");

    await write(request("pxe", { mode: "legacy" }));

    expect(bmc.log.slice(2)).toEqual([
      "GET /redfish/v1/Systems/System.Embedded.1/Settings",
      "PATCH /redfish/v1/Systems/System.Embedded.1/Settings",
    ]);
    expect(bmc.machine.override).toEqual({ device: "pxe", enabled: "once", mode: "legacy" });
  });

  test("a settings resource that holds Boot is written on any make", async () => {
    await start(generic({ bootOwner: "settings" }));

    const hint = await write(request("pxe"));
    bmc.forget();
    await write(request("disk"), hint);

    expect(bmc.log).toEqual(["PATCH /redfish/v1/Systems/1/Settings"]);
    expect(bmc.machine.override.device).toBe("disk");
  });

  test("Dell 13G: 400 SYS444 with the override applied is success, and nothing is sent twice", async () => {
    await start("dell-13g");

    await write(request("pxe"));

    expect(patches()).toHaveLength(1);
    expect(bmc.machine.override).toMatchObject({ device: "pxe", enabled: "once" });
  });

  test("any make: 400 with the override applied is success", async () => {
    await start(generic({ refusesButApplies: "Contoso.1.0.Oops" }));

    await write(request("pxe"));

    expect(bmc.machine.override.device).toBe("pxe");
  });

  test("HPE: a mode that is not writable is left out, now and in the next call", async () => {
    await start("hpe-ilo5");

    const hint = await write(request("pxe", { mode: "legacy" }));
    const first = sentBoot();
    const error = await withSession(bmc, { hint }, ({ boot }) =>
      errorOf(boot.plan(request("pxe", { mode: "legacy" }), signal)),
    );

    expect(first).toEqual([
      {
        BootSourceOverrideTarget: "Pxe",
        BootSourceOverrideEnabled: "Once",
        BootSourceOverrideMode: "Legacy",
      },
      { BootSourceOverrideTarget: "Pxe", BootSourceOverrideEnabled: "Once" },
    ]);
    expect(bmc.machine.override).toMatchObject({ device: "pxe", mode: "uefi" });
    expect(hint).toMatchObject({ learned: ["mode-read-only"] });
    expect(error).toMatchObject({ class: "unsupported", message: expect.stringContaining("UEFI") });
  });

  test("HPE: an override is cleared with Disabled and Pxe", async () => {
    await start("hpe-ilo5");
    bmc.machine.override = { device: "disk", enabled: "continuous", mode: "uefi" };

    const read = await withSession(bmc, {}, async ({ boot }) => {
      await boot.write(request("none"), signal);
      return await boot.read(signal);
    });

    expect(patches()).toHaveLength(1);
    expect(read?.device).toBe("none");
    expect(bmc.machine.override.enabled).toBe("disabled");
  });

  test("HPE: 406 on identity encoding leaves the header out, also in the next call", async () => {
    await start("hpe-no-identity");

    const hint = await write(request("pxe"));
    bmc.forget();
    await write(request("disk"), hint);

    expect(bmc.log).toEqual(["PATCH /redfish/v1/Systems/1"]);
    expect(bmc.machine.override.device).toBe("disk");
  });

  test("Supermicro: the current mode is sent along when the mode is to be kept", async () => {
    await start("supermicro", { mode: "legacy" });

    await write(request("pxe"));

    expect(sentBoot()[0]).toMatchObject({ BootSourceOverrideMode: "Legacy" });
    expect(bmc.machine.override).toEqual({ device: "pxe", enabled: "once", mode: "legacy" });
  });

  test("Supermicro: cdrom is UsbCd", async () => {
    await start("supermicro");

    const read = await withSession(bmc, {}, async ({ boot }) => {
      await boot.write(request("cdrom"), signal);
      return await boot.read(signal);
    });

    expect(sentBoot()[0]).toMatchObject({ BootSourceOverrideTarget: "UsbCd" });
    expect(read?.device).toBe("cdrom");
  });

  test("AMI: target, enabled and mode go together", async () => {
    await start("ami");

    await write(request("pxe"));

    expect(sentBoot()).toEqual([
      { BootSourceOverrideTarget: "Pxe", BootSourceOverrideEnabled: "Once", BootSourceOverrideMode: "UEFI" },
    ]);
  });

  test("AMI: a change for the future state goes to the SD resource with its tag", async () => {
    await start("ami-future-state");

    const hint = await write(request("pxe"));
    const last = bmc.log.at(-1);
    bmc.forget();
    await write(request("disk", { mode: "uefi" }), hint);

    expect(last).toBe("PATCH /redfish/v1/Systems/Self/SD");
    expect(patches().map(({ path }) => path)).toEqual(["/redfish/v1/Systems/Self/SD"]);
    expect(bmc.machine.override).toMatchObject({ device: "disk", enabled: "once" });
  });

  test.each(["lenovo-sr655", "huawei"])("%s: If-Match is sent with the first write", async (profile) => {
    await start(profile);

    await write(request("pxe"));

    expect(bmc.log.filter((line) => line.startsWith("PATCH"))).toHaveLength(1);
    expect(bmc.machine.override.device).toBe("pxe");
  });

  test("Lenovo XCC: 412 with If-Match is followed by one request without", async () => {
    await start("lenovo-xcc");
    bmc.fail({ kind: "refuse", method: "PATCH", status: 428, messageId: "Base.1.8.PreconditionRequired" });

    await write(request("pxe"));

    expect(patches().map(({ headers }) => headers["if-match"] !== undefined)).toEqual([false, true, false]);
    expect(bmc.machine.override.device).toBe("pxe");
  });
});
