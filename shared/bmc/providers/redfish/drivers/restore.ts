import { BmcError } from "../../../../contract/bmc-error.ts";
import type { RestoreDriver, RestorePolicy } from "../../../operations/restore.ts";
import type { Resources } from "../resources/resources.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";

/** ComputerSystem.PowerRestorePolicy (DSP0268). */
const POLICIES: Readonly<Record<RestorePolicy, string>> = {
  "always-off": "AlwaysOff",
  "always-on": "AlwaysOn",
  "last-state": "LastState",
};

/** `PowerRestorePolicy` of the system. Vendors that only have it in their BIOS do not offer it. */
export function redfishRestore({ system, writer }: Resources): RestoreDriver {
  const find = async (signal: AbortSignal) => {
    const found = await system.read(signal);
    const { PowerRestorePolicy: policy } = found.value;
    if (policy === undefined) throw new BmcError("unsupported", "the BMC offers no power restore policy");
    return { ...found, policy };
  };
  const request = async (policy: RestorePolicy, signal: AbortSignal): Promise<WriteRequest> => {
    const { path, etag, value } = await find(signal);
    const asked = POLICIES[policy];
    const taken = value["PowerRestorePolicy@Redfish.AllowableValues"];
    if (taken && !taken.includes(asked)) {
      throw new BmcError("unsupported", `the BMC does not offer the power restore policy ${policy}`);
    }
    return { method: "PATCH", path, body: { PowerRestorePolicy: asked }, etag };
  };
  return {
    async read(signal) {
      const { policy } = await find(signal);
      const known = Object.entries(POLICIES).find(([, name]) => name === policy);
      return known?.[0] as RestorePolicy | undefined;
    },
    plan: async (policy, signal) => describeWrite(await request(policy, signal)),
    async write(policy, signal) {
      await writer.write(await request(policy, signal), signal);
    },
  };
}
