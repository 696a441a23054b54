import { actionReference } from "../harness/input/reference.ts";
import { secureBootState } from "../harness/input/reference-parts.ts";

const state = { enabled: false, active: false, mode: "setup" } as const;

export const reference = actionReference("reset-secure-boot-keys", {
  environment: { SECURE_BOOT_KEYS: "default" },
  keywords: ["secure-boot", "uefi"],
  mostRoundTrips: { redfish: 6 },
  output: { before: secureBootState, after: secureBootState },
  result: {
    message:
      "reset of the Secure Boot keys to the default accepted, in effect after the next boot via redfish",
    before: state,
    after: state,
    changed: true,
    durationMs: 388,
    roundTrips: 6,
  },
});
