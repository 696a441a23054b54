import type { SigningRequestNames } from "../../shared/bmc/operations/signing-request.ts";
import { defined } from "../../shared/defined.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import { list, text } from "../harness/input/input.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";

interface CsrData {
  readonly csr: string;
}

/** A DNS name or an IP address. */
const HOST = /^[A-Za-z0-9_*]([A-Za-z0-9_.:-]{0,252}[A-Za-z0-9])?$/;

const words = (env: string, description: string) =>
  text({
    env,
    description,
    pattern: /^[^\p{Cc}\p{Cf}]{1,64}$/u,
    expected: "is not 1 to 64 characters of text",
  });

export default defineAction({
  name: "get-bmc-csr",
  summary: "Let a BMC make a key, and get the certificate signing request (CSR) for it",
  // Each run generates a new key.
  idempotent: false,
  input: {
    commonName: text({
      env: "COMMON_NAME",
      description: "Name or address of the BMC, for the subject (CN)",
      pattern: HOST,
      expected: "is not a host name or address",
      required: true,
    }),
    alternativeNames: list({
      env: "ALTERNATIVE_NAMES",
      description: "DNS names and IP addresses, separated by commas; most clients only look at these",
      pattern: HOST,
      expected: "must hold only host names and addresses",
    }),
    organization: words("ORGANIZATION", "Organization (O)"),
    organizationalUnit: words("ORGANIZATIONAL_UNIT", "Organizational unit (OU)"),
    city: words("CITY", "City (L)"),
    state: words("STATE", "State or province (ST)"),
    country: text({
      env: "COUNTRY",
      description: "Country (C), two letters",
      pattern: /^[A-Z]{2}$/,
      expected: "is not a country code of two capital letters",
    }),
  },
  run: async ({ bmc, input, dryRun, signal }): Promise<ActionReport<DryRunData | CsrData>> => {
    const names: SigningRequestNames = defined(input);
    if (dryRun) return reportPlan(await bmc.planSigningRequest(names, signal), "");
    const csr = await bmc.generateSigningRequest(names, signal);
    return { summary: `CSR for ${names.commonName}, with a new key`, changed: true, data: { csr } };
  },
  table: (data) => ("csr" in data ? data.csr.trim() : data.wouldSend.join("\n")),
});
