import { expect, test } from "vitest";
import { matches } from "../../../../shared/bmc/operations/boot.ts";
import type { BootRequest } from "../../../../shared/bmc/operations/boot-port.ts";
import { redfishLab } from "../../../support/bmc-lab.ts";

const signal = new AbortController().signal;
const pxeOnce: BootRequest = { device: "pxe", persistent: false, mode: "uefi" };
const SYSTEM = /Systems\/1$/;

test("PXE once is set, read back, and consumed by the next boot", async () => {
  await using lab = await redfishLab({ power: "off" });

  const report = await lab.client.setBoot(pxeOnce, signal);
  await lab.client.setPower({ verb: "on", timeoutMs: 20_000 }, signal);

  expect(report).toEqual({
    after: { device: "pxe", persistent: false, mode: "uefi" },
    changed: true,
    summary: "boot pxe once (uefi)",
  });
  expect(lab.machine.lastBoot).toMatchObject({ device: "pxe", mode: "uefi", overridden: true });
  expect(await lab.client.getBoot(signal)).toMatchObject({ device: "none" });
});

test("a persistent override survives boots until none clears it", async () => {
  await using lab = await redfishLab({ power: "off" });

  await lab.client.setBoot({ device: "disk", persistent: true, mode: "keep" }, signal);
  await lab.client.setPower({ verb: "on", timeoutMs: 20_000 }, signal);
  const kept = await lab.client.getBoot(signal);
  await lab.client.setBoot({ device: "none", persistent: false, mode: "keep" }, signal);

  expect(kept).toMatchObject({ device: "disk", persistent: true });
  expect(await lab.client.getBoot(signal)).toMatchObject({ device: "none" });
});

test("a BMC that answers 200 and keeps something else is a verify error with asked and kept", async () => {
  await using lab = await redfishLab({}, { profile: "supermicro-reverting" });

  await expect(lab.client.setBoot(pxeOnce, signal)).rejects.toMatchObject({
    class: "verify",
    message: /^redfish: asked for pxe once \(uefi\), the BMC keeps none/,
  });
});

test.each(["close-before", "close-after"] as const)(
  "an override whose answer was lost (%s) is there in the end",
  async (kind) => {
    await using lab = await redfishLab();
    lab.bmc.fail({ kind, method: "PATCH", path: SYSTEM });

    const report = await lab.client.setBoot(pxeOnce, signal);

    expect(report.after.device).toBe("pxe");
    expect(lab.machine.override).toMatchObject({ device: "pxe", enabled: "once" });
  },
);

test("keep becomes the machine's own boot mode where the connection has one", async () => {
  await using lab = await redfishLab({ mode: "uefi" }, {}, { bootMode: "legacy" });

  await lab.client.setBoot({ ...pxeOnce, mode: "keep" }, signal);

  expect(lab.machine.override.mode).toBe("legacy");
});

test("a plan names the request and changes nothing", async () => {
  await using lab = await redfishLab();

  const plan = await lab.client.planBoot(pxeOnce, signal);

  expect(plan.before.device).toBe("none");
  expect(plan.steps.join()).toMatch(/PATCH .*Pxe/);
  expect(lab.machine.override.enabled).toBe("disabled");
});

test("a device that the BMC does not offer is unsupported before anything is sent", async () => {
  await using lab = await redfishLab();

  await expect(lab.client.setBoot({ ...pxeOnce, device: "safe" }, signal)).rejects.toMatchObject({
    class: "unsupported",
  });
  expect(lab.bmc.log.some((line) => line.startsWith("PATCH"))).toBe(false);
});

test("what a BMC does not report is not held against it", () => {
  expect(matches(pxeOnce, { device: "pxe" })).toBe(true);
  expect(matches(pxeOnce, { device: "pxe", persistent: true })).toBe(false);
  expect(matches(pxeOnce, { device: "pxe", persistent: false, mode: "legacy" })).toBe(false);
  expect(matches({ ...pxeOnce, mode: "keep" }, { device: "pxe", mode: "legacy" })).toBe(true);
  expect(matches(pxeOnce, { device: "unknown" })).toBe(false);
});
