import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

const INTERFACE = { id: "1", mode: "static", address: "192.0.2.11", prefix: 24, vlan: "off" } as const;
const NETWORK = { before: INTERFACE, target: { ...INTERFACE, address: "192.0.2.12", vlan: 42 } };

export const reference = operationReference("network", {
  check: {
    means: "The BMC's network interfaces were read",
    roundTrips: { redfish: 2, ipmi: 2 },
    example: {
      ...ok("static 192.0.2.11/24, gateway 192.0.2.1, host name bmc-7"),
      durationMs: 88,
    },
  },
  calls: {
    list: (network, signal) => network.list(signal),
    plan: (network, signal) => network.plan(NETWORK, signal),
    write: (network, signal) => network.write(NETWORK, signal),
    finish: (network, signal) => network.finish?.(signal),
  },
});
