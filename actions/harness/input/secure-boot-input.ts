import { SECURE_BOOT_DATABASES } from "../../../shared/bmc/operations/secure-boot-key.ts";
import { boolean, choice } from "./input.ts";

/** The inputs that the actions that change a Secure Boot key share. */
export const secureBootKeyInput = {
  database: choice(SECURE_BOOT_DATABASES, {
    env: "DATABASE",
    description: "The platform key, key exchange keys, allowed signatures or forbidden signatures",
    required: true,
  }),
  allowUserMode: boolean({
    env: "ALLOW_USER_MODE",
    description: "Send it also in user or deployed mode, for BMCs that change keys without a signature",
    default: "false",
  }),
};
