import type { Connection } from "../../../shared/contract/connection.ts";
import { lockKeyOf, serviceLockKey } from "../lock-key.ts";

/** The same key as `entryLockKey` for the same BMC in an inventory file. */
export function connectionLockKey(connection: Connection): string {
  const { host, providers, redfish, ipmi, ipmitool, amt, rpc, homeassistant } = connection;
  if (rpc) return serviceLockKey("rpc", rpc.url, host);
  if (homeassistant) return serviceLockKey("homeassistant", homeassistant.url, homeassistant.entity);
  const ipmiPort = providers.includes("ipmi") ? ipmi.port : ipmitool.port;
  return lockKeyOf(host, {
    redfish: providers.includes("redfish") ? redfish.port : undefined,
    ipmi: providers.includes("ipmi") || providers.includes("ipmitool") ? ipmiPort : undefined,
    amt: providers.includes("amt") ? amt.port : undefined,
  });
}
