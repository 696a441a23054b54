import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

export const reference = actionReference("get-bmc-csr", {
  environment: { COMMON_NAME: "bmc-7.example.org", ALTERNATIVE_NAMES: "bmc-7.example.org,192.0.2.11" },
  keywords: ["certificate", "csr", "tls"],
  mostRoundTrips: { redfish: 6 },
  output: { data: z.strictObject({ csr: z.string().describe("The request in PEM, for a CA to sign") }) },
  result: {
    message: "CSR for bmc-7.example.org, with a new key via redfish",
    changed: true,
    durationMs: 4_210,
    roundTrips: 7,
    data: {
      csr: "-----BEGIN CERTIFICATE REQUEST-----\nMIIBHTCBxQIBADBjMQswCQ...\n-----END CERTIFICATE REQUEST-----\n",
    },
  },
});
