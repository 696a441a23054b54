import { actionReference } from "../harness/input/reference.ts";
import { secureBootState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("set-secure-boot", {
  environment: { SECURE_BOOT: "true" },
  keywords: ["secure-boot", "uefi"],
  mostRoundTrips: { redfish: 6 },
  output: { before: secureBootState, after: secureBootState },
  result: {
    message: "Secure Boot on after the next boot (user mode) via redfish",
    before: { enabled: false, active: false, mode: "user" },
    after: { enabled: true, active: false, mode: "user" },
    changed: true,
    durationMs: 420,
    roundTrips: 6,
  },
});
