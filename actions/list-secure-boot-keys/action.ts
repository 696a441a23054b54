import { SECURE_BOOT_DATABASES, titleOf } from "../../shared/bmc/operations/secure-boot-key.ts";
import { describeSecureBootKeys } from "../../shared/bmc/operations/securebootkeys.ts";
import { formatTable } from "../../shared/table.ts";
import { defineAction } from "../harness/action.ts";
import { choiceList } from "../harness/input/input.ts";

export default defineAction({
  name: "list-secure-boot-keys",
  summary: "List the keys of UEFI Secure Boot",
  idempotent: true,
  input: {
    databases: choiceList(SECURE_BOOT_DATABASES, {
      env: "DATABASES",
      description: "Databases to list; all that the BMC has if empty",
      default: "",
    }),
  },
  run: async ({ bmc, input, signal }) => {
    const list = await bmc.listSecureBootKeys(input.databases, signal);
    return { summary: describeSecureBootKeys(list), changed: false, data: list };
  },
  table: ({ keys }) =>
    formatTable(
      ["database", "id", "kind", "subject", "issuer", "not after", "fingerprint"],
      keys.map(({ database, id, kind, subject = "", issuer = "", notAfter = "", fingerprint = "" }) => [
        titleOf(database),
        id,
        kind,
        subject,
        issuer,
        notAfter.slice(0, 10),
        fingerprint,
      ]),
    ),
});
