import { describe, expect, it } from "vitest";
import { redfishProfile } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const URI = "https://192.0.2.9/boot.efi";
const generic = redfishProfile("generic");

function withoutOrder() {
  return actionLab({ redfish: { profile: { ...generic, bootOrder: false, httpBootUri: false } } });
}

describe.concurrent("set-boot-order", () => {
  it.each([
    ["generic", "PXE NIC 1", ["Boot0002", "Boot0001", "Boot0003"]],
    ["generic", "boot0003, pxe nic 1", ["Boot0003", "Boot0002", "Boot0001"]],
    ["dell-idrac10", "UEFI Shell", ["Boot0003", "Boot0001", "Boot0002"]],
  ])("puts these options of a %s BMC first: %s", async (profile, BOOT_ORDER, order) => {
    await using lab = await actionLab({ redfish: { profile } });
    const env = { ...lab.env("redfish"), BOOT_ORDER };

    const planned = await runAction("set-boot-order", { env: { ...env, DRY_RUN: "true" } });
    const ended = await runAction("set-boot-order", { env });
    const again = await runAction("set-boot-order", { env });

    expect(resultOf(planned)).toMatchObject({
      data: { wouldSend: [expect.stringContaining(JSON.stringify(order))] },
    });
    expect(resultOf(ended)).toMatchObject({ ok: true, changed: true });
    expect(resultOf(again)).toMatchObject({ ok: true, changed: false });
    expect(lab.machine.bootOrder).toEqual(order);
    expect(lab.writes()).toHaveLength(1);
  });

  it("follows a refusal to the resource that it names", async () => {
    await using lab = await actionLab({ redfish: { profile: "ami-future-state" } });
    const env = { ...lab.env("redfish"), BOOT_ORDER: "UEFI Shell" };

    const ended = await runAction("set-boot-order", { env });

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: true });
    expect(lab.machine.bootOrder).toEqual(["Boot0003", "Boot0001", "Boot0002"]);
    // If-Match is asked for there.
    expect(lab.writes().map((line) => line.replace(/.*Systems/, ""))).toEqual([
      "/Self",
      "/Self/SD",
      "/Self/SD",
    ]);
  });

  it.each([
    ["PXE NIC 2", "redfish: the BMC has no boot option PXE NIC 2; did you mean PXE NIC 1?"],
    ["SAN", "redfish: the BMC has no boot option SAN; it has boot order Hard Drive, PXE NIC 1, UEFI Shell"],
  ])("names what the BMC has instead of %s, before anything is sent", async (BOOT_ORDER, message) => {
    await using lab = await actionLab();

    const ended = await runAction("set-boot-order", { env: { ...lab.env("redfish"), BOOT_ORDER } });

    expect(resultOf(ended)).toMatchObject({ class: "usage", message });
    expect(lab.writes()).toEqual([]);
  });

  it("asks for the ID of a title that two options have", async () => {
    await using lab = await actionLab();
    Object.assign(lab.machine.bootOptions, { Boot0003: "PXE NIC 1" });

    const ended = await runAction("set-boot-order", {
      env: { ...lab.env("redfish"), BOOT_ORDER: "PXE NIC 1" },
    });

    expect(resultOf(ended).message).toBe(
      "redfish: several boot options are named PXE NIC 1: Boot0002, Boot0003; use the ID",
    );
  });
});

describe.concurrent("set-http-boot", () => {
  it.each(["system", "settings"] as const)(
    "sets URI and boot device where the %s takes them",
    async (bootOwner) => {
      await using lab = await actionLab({ redfish: { profile: { ...generic, bootOwner } } });

      const ended = await runAction("set-http-boot", {
        env: { ...lab.env("redfish"), HTTP_BOOT_URI: URI },
      });

      expect(resultOf(ended)).toMatchObject({
        ok: true,
        message: `boot uefi-http once (uefi), HTTP boot from ${URI} by HttpBootUri via redfish`,
        data: { way: "http-boot-uri" },
      });
      expect(lab.machine.httpBootUri).toBe(URI);
      expect(lab.machine.override).toMatchObject({ device: "uefi-http", enabled: "once" });
    },
  );

  it("leaves the boot device alone where the BMC takes no URI", async () => {
    await using lab = await withoutOrder();

    const ended = await runAction("set-http-boot", {
      env: { ...lab.env("redfish"), HTTP_BOOT_URI: URI },
    });

    expect(resultOf(ended)).toMatchObject({
      class: "unsupported",
      message: "redfish: the BMC does not take a URI for HTTP boot",
    });
    expect(lab.writes()).toEqual([]);
  });

  const HTTPS = "https://192.0.2.9/boot.efi";
  const HTTP = "http://192.0.2.9/boot.efi";
  const makes = {
    Dell: {
      HttpDev1EnDis: "Enabled",
      HttpDev1Uri: HTTPS,
      HttpDev1TlsMode: "OneWay",
      HttpDev1Interface: "NIC.Slot.5-1",
    },
    HPE: { UrlBootFile: HTTPS, PreBootNetwork: "Slot1NicPort1" },
  } as const;

  it.each([
    ["dell-idrac9", "NIC.Slot.5-1", makes.Dell],
    ["hpe-ilo5", "Slot1NicPort1", makes.HPE],
  ])("sets the BIOS attributes of %s, where the BMC takes no URI, once", async (profile, nic, values) => {
    await using lab = await actionLab({ redfish: { profile } });
    const env = { ...lab.env("redfish"), HTTP_BOOT_URI: HTTPS, NIC: nic };

    const ended = await runAction("set-http-boot", { env });
    const again = await runAction("set-http-boot", { env });

    expect(resultOf(ended)).toMatchObject({ ok: true, data: { way: "bios-attributes" } });
    expect(resultOf(ended).message).toContain(`HTTP boot from ${HTTPS} by BIOS attributes: `);
    expect(resultOf(ended).message).toContain(", in effect after the next boot");
    expect(resultOf(again)).toMatchObject({ ok: true });
    expect(lab.machine.bios.pending).toMatchObject(values);
    expect(lab.machine.override).toMatchObject({ device: "uefi-http", enabled: "once" });
    expect(lab.writes().filter((line) => line.includes("/Bios"))).toHaveLength(1);
  });

  it.each([
    ["dell-idrac9", { HTTP_BOOT_URI: HTTPS, VERIFY_SERVER: "false" }, { HttpDev1TlsMode: "None" }],
    ["hpe-ilo5", { HTTP_BOOT_URI: HTTP }, { UrlBootFile: HTTP, HttpSupport: "Auto" }],
  ])("sets what %s needs for the scheme: %j", async (profile, input, values) => {
    await using lab = await actionLab({ redfish: { profile } });
    lab.machine.bios.attributes = { ...lab.machine.bios.attributes, HttpDev1TlsMode: "OneWay" };

    const ended = await runAction("set-http-boot", { env: { ...lab.env("redfish"), ...input } });

    expect(resultOf(ended)).toMatchObject({ ok: true });
    expect(lab.machine.bios.pending).toMatchObject(values);
  });

  it.each([
    ["generic", { NIC: "NIC.1" }, "the BMC does not select the network interface of HTTP boot"],
    ["generic", { VERIFY_SERVER: "false" }, "the BMC does not select whether HTTP boot verifies the server"],
    ["hpe-ilo5", { VERIFY_SERVER: "false" }, "the BIOS always verifies the server of HTTP boot"],
  ])("is unsupported where %s cannot do what is asked: %j", async (profile, input, problem) => {
    await using lab = await actionLab({ redfish: { profile } });

    const ended = await runAction("set-http-boot", {
      env: { ...lab.env("redfish"), HTTP_BOOT_URI: HTTPS, ...input },
    });

    expect(resultOf(ended)).toMatchObject({
      ok: false,
      class: "unsupported",
      message: `redfish: ${problem}`,
    });
    expect(lab.writes()).toEqual([]);
  });
});

describe.concurrent("set-nic-pxe", () => {
  const run = async (profile: string, input: Readonly<Record<string, string>>) => {
    const lab = await actionLab({ redfish: { profile } });
    try {
      const env = { ...lab.env("redfish"), ...input };
      const first = resultOf(await runAction("set-nic-pxe", { env }));
      const again = resultOf(await runAction("set-nic-pxe", { env }));
      return { first, again, pending: lab.machine.bios.pending, writes: lab.writes() };
    } finally {
      await lab[Symbol.asyncDispose]();
    }
  };

  it.each([
    ["dell-idrac9", { NIC: "NIC.Slot.5-1" }, { PxeDev2EnDis: "Enabled", PxeDev2Interface: "NIC.Slot.5-1" }],
    ["dell-idrac9", { NIC: "nic.embedded.2-1-1" }, { PxeDev2EnDis: "Enabled" }],
    ["dell-idrac9", { NIC: "NIC.Embedded.1-1-1", PXE_ENABLED: "false" }, { PxeDev1EnDis: "Disabled" }],
    ["hpe-ilo5", { NIC: "Slot10NicPort2" }, { Slot10NicBoot2: "NetworkBoot" }],
    ["hpe-ilo5", { NIC: "Slot1NicPort1", PXE_ENABLED: "false" }, { Slot1NicBoot1: "Disabled" }],
  ])("sets the BIOS attribute of %s once: %j", async (profile, input, values) => {
    const { first, again, pending, writes } = await run(profile, input);

    expect(first).toMatchObject({ ok: true, changed: true });
    expect(first.message).toContain("in effect after the next boot");
    expect(again).toMatchObject({ ok: true, changed: false });
    expect(pending).toMatchObject(values);
    expect(writes).toHaveLength(1);
  });

  it.each([
    [
      "hpe-ilo5",
      { NIC: "Slot9NicPort1" },
      "usage",
      "no network interface Slot9NicPort1: it has Slot1NicPort1",
    ],
    ["dell-idrac9", { NIC: "NIC.Slot.9-1", PXE_ENABLED: "false" }, "usage", "it has NIC.Embedded.1-1-1"],
    ["dell-13g", { NIC: "NIC.1" }, "unsupported", "no attribute that switches PXE"],
  ])("sends nothing to %s for %j", async (profile, input, errorClass, problem) => {
    const { first, writes } = await run(profile, input);

    expect(first).toMatchObject({ ok: false, class: errorClass });
    expect(first.message).toContain(problem);
    expect(writes).toEqual([]);
  });

  it("says which PXE devices are in use if none is free", async () => {
    await using lab = await actionLab({ redfish: { profile: "dell-idrac9" } });
    lab.machine.bios.attributes = { ...lab.machine.bios.attributes, PxeDev2EnDis: "Enabled" };

    const ended = await runAction("set-nic-pxe", { env: { ...lab.env("redfish"), NIC: "NIC.Slot.5-1" } });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "state" });
    expect(resultOf(ended).message).toContain("all 2 PXE devices of the BIOS are in use: NIC.Embedded.1-1-1");
    expect(lab.writes()).toEqual([]);
  });
});
