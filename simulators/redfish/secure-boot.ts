import { z } from "zod";
import type { SimulatedMachine } from "../machine.ts";
import { type Answer, methodNotAllowed, noContent, refusal } from "./answer.ts";
import { checkIfMatch, withTag } from "./etag.ts";
import type { RedfishProfile } from "./profiles.ts";
import type { ResourceRequest, ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

const KEY_RESETS = ["ResetAllKeysToDefault", "DeleteAllKeys", "DeletePK"] as const;

/** UEFI Secure Boot below a System: what is set takes effect when the machine boots. */
export class SimulatedSecureBoot implements ResourceService {
  readonly #path: string;
  readonly #machine: SimulatedMachine;
  readonly #profile: RedfishProfile;

  constructor(systemPath: string, machine: SimulatedMachine, profile: RedfishProfile) {
    this.#path = `${systemPath}/SecureBoot`;
    this.#machine = machine;
    this.#profile = profile;
  }

  answer({ method, path, body, ifMatch }: ResourceRequest): Answer | undefined {
    const { secureBoot } = this.#machine;
    const target = `${this.#path}/Actions/SecureBoot.ResetKeys`;
    if (path === target) return method === "POST" ? this.#resetKeys(body) : methodNotAllowed(method);
    if (path !== this.#path) return undefined;
    const current = resource(path, "SecureBoot", {
      Name: "UEFI Secure Boot",
      SecureBootEnable: secureBoot.enabled,
      SecureBootCurrentBoot: secureBoot.active ? "Enabled" : "Disabled",
      SecureBootMode: secureBoot.hasKeys ? "UserMode" : "SetupMode",
      Actions: {
        "#SecureBoot.ResetKeys": { target, "ResetKeysType@Redfish.AllowableValues": KEY_RESETS },
      },
    });
    if (method === "GET") return withTag(current, this.#profile);
    if (method !== "PATCH") return methodNotAllowed(method);
    const refused = checkIfMatch(ifMatch, current, this.#profile);
    if (refused) return refused;
    const parsed = z.strictObject({ SecureBootEnable: z.boolean() }).safeParse(body);
    if (!parsed.success) return refusal(400, "Base.1.8.PropertyUnknown", "A property is not known.");
    secureBoot.enabled = parsed.data.SecureBootEnable;
    return noContent;
  }

  #resetKeys(body: unknown): Answer {
    const parsed = z.strictObject({ ResetKeysType: z.enum(KEY_RESETS) }).safeParse(body);
    if (!parsed.success) {
      return refusal(400, "Base.1.8.ActionParameterValueNotInList", "ResetKeysType is not in the list.");
    }
    this.#machine.secureBoot.keysAfterBoot = parsed.data.ResetKeysType === "ResetAllKeysToDefault";
    return noContent;
  }
}
