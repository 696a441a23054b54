import { BmcError } from "../../../contract/bmc-error.ts";
import type { SecureBootDriver, SecureBootKeys } from "../../operations/secureboot.ts";
import { describeRequest, type IronicRequest } from "./api.ts";
import type { IronicNode } from "./node.ts";

const MINOR = 76;

/** Secure Boot as Ironic last read it from the BMC or set it. */
export function ironicSecureBoot(node: IronicNode): SecureBootDriver {
  function request(enabled: boolean): IronicRequest {
    node.api.require(MINOR, "Secure Boot");
    return { method: "PUT", path: node.path("/states/secure_boot"), body: { target: enabled } };
  }

  async function refuseKeys(keys: SecureBootKeys): Promise<never> {
    throw new BmcError("unsupported", `Ironic does not offer to reset Secure Boot keys (${keys})`);
  }

  return {
    async read(signal) {
      node.api.require(MINOR, "Secure Boot");
      const { secure_boot: enabled } = await node.recent(signal);
      if (typeof enabled === "boolean") return { enabled };
      throw new BmcError("unsupported", "Ironic does not know the node's Secure Boot");
    },
    async plan(enabled, signal) {
      await node.permit(signal);
      return describeRequest(request(enabled));
    },
    async write(enabled, signal) {
      const asked = request(enabled);
      await node.permit(signal);
      await node.change(asked, signal);
    },
    planKeys: refuseKeys,
    resetKeys: refuseKeys,
  };
}
