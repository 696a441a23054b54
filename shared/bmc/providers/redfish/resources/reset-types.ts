import { BmcError } from "../../../../contract/bmc-error.ts";
import { ActionInfo, type ResetAction } from "../service/schema.ts";
import type { Service } from "../service/service.ts";

/**
 * The reset types that an action lists: on the resource, else in its ActionInfo (DSP0266 section 7.8.3), which
 * costs a request; undefined when neither does.
 */
export async function listedResetTypes(
  service: Service,
  action: ResetAction | undefined,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const advertised = action?.["ResetType@Redfish.AllowableValues"];
  if (advertised) return advertised;
  const path = service.localPath(action?.["@Redfish.ActionInfo"]);
  if (path === undefined) return undefined;
  const info = await service.find(path, ActionInfo, signal);
  return info?.value.Parameters.find(({ Name }) => Name === "ResetType")?.AllowableValues;
}

/** What a BMC lacks, for people. */
export function noResetType(what: string, listed: readonly string[] | undefined): BmcError {
  const offers = listed ? `, only ${listed.join(", ")}` : "";
  return new BmcError("unsupported", `the BMC offers no reset type for ${what}${offers}`);
}
