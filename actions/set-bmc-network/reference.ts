import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { networkSettings } from "../harness/input/reference-parts.ts";

const before = {
  id: "eth0",
  mac: "02:00:00:00:00:0b",
  mode: "static",
  address: "192.0.2.11",
  prefix: 24,
  gateway: "192.0.2.1",
  vlan: "off",
  hostName: "bmc-7",
} as const;
const goBack = "BMC_HOST=192.0.2.12 ADDRESS=192.0.2.11/24 GATEWAY=192.0.2.1 VLAN=off HOST_NAME=bmc-7";

export const reference = actionReference("set-bmc-network", {
  environment: { ADDRESS: "192.0.2.12/24", GATEWAY: "192.0.2.1" },
  keywords: ["network", "address", "dhcp", "vlan"],
  mostRoundTrips: { redfish: 11, ipmi: 14 },
  polls: true,
  output: {
    before: networkSettings,
    after: networkSettings,
    data: z.strictObject({
      host: z
        .string()
        .optional()
        .describe("Address at which the BMC was read last; absent if unknown, or if the action failed"),
      goBack: z
        .string()
        .optional()
        .describe("The input of this action that restores the old settings; absent if nothing was sent"),
    }),
  },
  result: {
    message: `static 192.0.2.12/24, gateway 192.0.2.1, host name bmc-7; answers at 192.0.2.12; to go back: ${goBack} via redfish`,
    before,
    after: { ...before, address: "192.0.2.12" },
    changed: true,
    durationMs: 9_300,
    roundTrips: 11,
    data: { host: "192.0.2.12", goBack },
  },
});
