import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

const certificate = z
  .strictObject({
    fingerprint: z.string().describe("SHA-256 in hex"),
    subject: z.string().describe("Whose it is"),
    issuer: z.string().describe("Who signed it"),
    notAfter: z.string().describe("When it expires, ISO 8601"),
  })
  .describe("The certificate that a new connection shows");

const fingerprint = "3b1f0c5de6a94c2f8d7be2a1904f6c38571de0ab93c24f6e8a7d5b1c02e4f968";
const after = {
  fingerprint,
  subject: "CN=bmc-7.example.org",
  issuer: "CN=Example CA",
  notAfter: "2027-11-23T00:00:00.000Z",
};
const inventory = `tls: {fingerprint: "${fingerprint}"}`;

export const reference = actionReference("set-bmc-certificate", {
  environment: { CERTIFICATE_FILE: "/data/bmc-7.pem" },
  volumes: ["/etc/bmc-certificates:/data:ro"],
  keywords: ["certificate", "tls", "https"],
  mostRoundTrips: { redfish: 8 },
  polls: true,
  output: {
    before: certificate,
    after: certificate,
    data: z.strictObject({
      fingerprint: z.string().describe("Of the certificate that the BMC shows"),
      inventory: z
        .string()
        .describe("The machine's line in the inventory that accepts exactly this certificate"),
    }),
  },
  result: {
    message: `shows certificate CN=bmc-7.example.org until 2027-11-23 (fingerprint ${fingerprint}); if the inventory pins the old one, replace it: ${inventory} via redfish`,
    before: {
      fingerprint: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      subject: "CN=bmc",
      issuer: "CN=bmc",
      notAfter: "2030-01-01T00:00:00.000Z",
    },
    after,
    changed: true,
    durationMs: 12_480,
    roundTrips: 9,
    data: { fingerprint, inventory },
  },
});
