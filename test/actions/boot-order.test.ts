import { describe, expect, it } from "vitest";
import { redfishProfiles } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const URI = "https://192.0.2.9/boot.efi";
const { generic } = redfishProfiles;

function withoutOrder() {
  if (!generic) throw new Error("no generic profile");
  return actionLab({ redfish: { profile: { ...generic, bootOrder: false } } });
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

  it("is a verification failure if the BMC keeps its order", async () => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind: "forget", method: "PATCH", times: 9 });

    const ended = await runAction("set-boot-order", {
      env: { ...lab.env("redfish"), BOOT_ORDER: "PXE NIC 1" },
    });

    expect(resultOf(ended).message).toBe(
      "redfish: asked for boot order PXE NIC 1, Hard Drive, UEFI Shell, the BMC keeps boot order Hard Drive, PXE NIC 1, UEFI Shell",
    );
  });

  it("is unsupported where the BMC offers none", async () => {
    await using lab = await withoutOrder();

    const ended = await runAction("set-boot-order", {
      env: { ...lab.env("redfish"), BOOT_ORDER: "PXE NIC 1" },
    });

    expect(resultOf(ended)).toMatchObject({
      class: "unsupported",
      message: "redfish: the BMC offers no boot order",
    });
  });
});

describe.concurrent("set-http-boot", () => {
  it.each(["system", "settings"] as const)(
    "sets URI and boot device where the %s takes them",
    async (bootOwner) => {
      if (!generic) throw new Error("no generic profile");
      await using lab = await actionLab({ redfish: { profile: { ...generic, bootOwner } } });

      const ended = await runAction("set-http-boot", {
        env: { ...lab.env("redfish"), HTTP_BOOT_URI: URI },
      });

      expect(resultOf(ended)).toMatchObject({
        ok: true,
        message: `boot uefi-http once (uefi), HTTP boot from ${URI} via redfish`,
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

  it("says in a dry run what it would send, in order", async () => {
    await using lab = await actionLab();

    const ended = await runAction("set-http-boot", {
      env: { ...lab.env("redfish"), HTTP_BOOT_URI: URI, DRY_RUN: "true" },
    });

    expect(resultOf(ended)).toMatchObject({
      data: {
        wouldSend: [
          `PATCH /redfish/v1/Systems/1 {"Boot":{"HttpBootUri":"${URI}"}}`,
          expect.stringContaining('"BootSourceOverrideTarget":"UefiHttp"'),
        ],
      },
    });
    expect(lab.writes()).toEqual([]);
  });
});
