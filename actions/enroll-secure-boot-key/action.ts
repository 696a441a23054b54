import { hexOf, type NewSecureBootKey, newCertificate } from "../../shared/bmc/operations/secure-boot-key.ts";
import { describeSecureBootKeys } from "../../shared/bmc/operations/securebootkeys.ts";
import { defined } from "../../shared/defined.ts";
import { defineAction } from "../harness/action.ts";
import { type InputOf, text, textFile } from "../harness/input/input.ts";
import { secureBootKeyInput } from "../harness/input/secure-boot-input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

const TEXT = "CERTIFICATE";
const FILE = "CERTIFICATE_FILE";
const SIGNATURE = "SIGNATURE";

const { database, allowUserMode } = secureBootKeyInput;
const input = {
  database,
  certificate: text({
    env: TEXT,
    description: "The certificate in PEM",
    pattern: /^-----BEGIN CERTIFICATE-----\s[\s\S]{1,65536}$/,
    expected: "is not a certificate in PEM",
  }),
  file: textFile({ env: FILE, description: "File with the same, or - for stdin" }),
  signature: text({
    env: SIGNATURE,
    description: "SHA-256 of a boot program in hex, instead of a certificate, for db and dbx",
    pattern: /^[0-9a-f]{64}$/i,
    expected: "is not a SHA-256 in hex",
  }),
  owner: text({
    env: "SIGNATURE_OWNER",
    description: "GUID of the key's owner; the BMC chooses without it",
    pattern: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
    expected: "is not a GUID",
  }),
  allowUserMode,
} as const;

export default defineAction({
  name: "enroll-secure-boot-key",
  summary: "Enroll a key of UEFI Secure Boot, and verify that its database has it",
  idempotent: true,
  input,
  check: ({ certificate, file, signature, database: into }, nameInput) => {
    const given = [certificate, file, signature].filter((each) => each !== undefined);
    if (given.length !== 1) {
      return [`set one of ${nameInput(TEXT)}, ${nameInput(FILE)} and ${nameInput(SIGNATURE)}`];
    }
    const isImage = signature !== undefined && !into.startsWith("d");
    return isImage ? [`${nameInput(SIGNATURE)} is only for db and dbx`] : [];
  },
  run: async ({ bmc, input: given, dryRun, signal }) => {
    const key = keyOf(given);
    const options = { allowUserMode: given.allowUserMode };
    if (!dryRun) return bmc.enrollSecureBootKey(given.database, key, options, signal);
    const plan = await bmc.planSecureBootKeyEnrollment(given.database, key, options, signal);
    return reportPlan(plan, describeSecureBootKeys({ keys: plan.before }));
  },
});

function keyOf({ certificate, file, signature, owner }: InputOf<typeof input>): NewSecureBootKey {
  if (signature === undefined) return newCertificate(certificate ?? file ?? "", owner);
  return { kind: "signature", fingerprint: hexOf(signature), ...defined({ owner }) };
}
