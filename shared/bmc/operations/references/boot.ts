import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

const BOOT = { device: "pxe", persistent: false, mode: "uefi" } as const;

export const reference = operationReference("boot", {
  check: {
    means:
      "The boot override was read; a webhook (`rpc`) accepts one. A switch (`homeassistant`) has none: remove it from `REQUIRE`",
    roundTrips: { redfish: 1, ipmi: 1 },
    example: { ...ok("none"), durationMs: 45 },
  },
  calls: {
    read: (boot, signal) => boot.read(signal),
    plan: (boot, signal) => boot.plan(BOOT, signal),
    write: (boot, signal) => boot.write(BOOT, signal),
    note: async (boot, signal) => boot.note?.({ ...BOOT, device: "cdrom" }, signal),
    waiting: async (boot, signal) => boot.waiting?.(signal),
    see: (boot, signal) => boot.see?.(true, signal),
  },
});
