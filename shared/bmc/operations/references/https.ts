import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

const LEAF = {
  fingerprint: "00",
  subject: "CN=bmc-7",
  issuer: "CN=CA",
  notAfter: "2027-11-23T00:00:00.000Z",
};
const CHAIN = { leaf: LEAF, pem: "-----BEGIN CERTIFICATE-----", size: 1 };

export const reference = operationReference("https", {
  check: {
    means: "The BMC takes certificates for its web server; none is sent",
    roundTrips: { redfish: 2 },
    example: { ...ok("offered"), durationMs: 86 },
  },
  calls: {
    offered: (https, signal) => https.offered(signal),
    shown: (https, signal) => https.shown(signal),
    planGenerate: (https, signal) => https.planGenerate({ commonName: "bmc-7" }, signal),
    generate: (https, signal) => https.generate({ commonName: "bmc-7" }, signal),
    plan: (https, signal) => https.plan(CHAIN, signal),
    install: (https, signal) => https.install(CHAIN, signal),
  },
});
