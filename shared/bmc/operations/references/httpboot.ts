import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

export const reference = operationReference("httpboot", {
  check: {
    means: "The URI of UEFI HTTP boot was read, from `HttpBootUri` or else from BIOS attributes",
    roundTrips: { redfish: 1 },
    example: { ...ok("HTTP boot from the DHCP server's URI (by HttpBootUri)"), durationMs: 44 },
  },
  calls: {
    read: (httpboot, signal) => httpboot.read(signal),
    plan: (httpboot, signal) => httpboot.plan("http://192.0.2.1/x.efi", signal),
    write: (httpboot, signal) => httpboot.write("http://192.0.2.1/x.efi", signal),
  },
});
