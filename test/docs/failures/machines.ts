import type { IpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import type { RedfishBmc } from "../../../simulators/redfish/bmc.ts";

/** Entries of an inventory, as an operator would write them. */
export const SERVED_BY_REDFISH = ({ port }: Pick<RedfishBmc, "port">) => ({
  providers: ["redfish"],
  redfish: { port, scheme: "http" },
});

export const SERVED_BY_HTTPS = ({ port }: Pick<RedfishBmc, "port">) => ({
  providers: ["redfish"],
  redfish: { port },
});

export const SERVED_BY_IPMI = ({ port }: Pick<IpmiBmc, "port">) => ({
  providers: ["ipmi"],
  ipmi: { port },
});

/** Nothing listens on port 1: the system gives out higher ones by itself. */
export const REFUSING = SERVED_BY_REDFISH({ port: 1 });
