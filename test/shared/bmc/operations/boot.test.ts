import { expect, test } from "vitest";
import { matches } from "../../../../shared/bmc/operations/boot.ts";
import type { BootRequest } from "../../../../shared/bmc/operations/boot-port.ts";
import { redfishLab } from "../../../support/bmc-lab.ts";

const signal = new AbortController().signal;
const pxeOnce: BootRequest = { device: "pxe", persistent: false, mode: "uefi" };

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

test("keep becomes the machine's own boot mode where the connection has one", async () => {
  await using lab = await redfishLab({ mode: "uefi" }, {}, { bootMode: "legacy" });

  await lab.client.setBoot({ ...pxeOnce, mode: "keep" }, signal);

  expect(lab.machine.override.mode).toBe("legacy");
});

test("what a BMC does not report is not held against it", () => {
  expect(matches(pxeOnce, { device: "pxe" })).toBe(true);
  expect(matches(pxeOnce, { device: "pxe", persistent: true })).toBe(false);
  expect(matches(pxeOnce, { device: "pxe", persistent: false, mode: "legacy" })).toBe(false);
  expect(matches({ ...pxeOnce, mode: "keep" }, { device: "pxe", mode: "legacy" })).toBe(true);
  expect(matches(pxeOnce, { device: "unknown" })).toBe(false);
});
