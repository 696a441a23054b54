import { actionReference } from "../harness/input/reference.ts";
import { secureBootState } from "../harness/input/reference-parts.ts";

const state = { enabled: true, active: true, mode: "user" } as const;

export const reference = actionReference("get-secure-boot", {
  keywords: ["secure-boot", "uefi"],
  readsOnly: true,
  mostRoundTrips: { redfish: 3 },
  output: { before: secureBootState, after: secureBootState, data: secureBootState },
  result: {
    message: "Secure Boot on (user mode) via redfish",
    before: state,
    after: state,
    changed: false,
    durationMs: 214,
    roundTrips: 3,
    data: state,
  },
});
