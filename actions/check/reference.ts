import { z } from "zod";
import { CHECK_STATES, failed, unsupported } from "../../shared/bmc/operations/finding.ts";
import { ErrorClass } from "../../shared/contract/error-class.ts";
import { ProviderName } from "../../shared/contract/vocabulary.ts";
import { defined } from "../../shared/defined.ts";
import { actionReference } from "../harness/input/reference.ts";
import type { ProviderChecks } from "./check-provider.ts";
import { loadCheckReferences } from "./check-references.ts";
import { CHECK_NAMES } from "./checks.ts";
import { dataOf, summarise } from "./verdict.ts";

const provider = z.enum(ProviderName.options);
const durationMs = z.int().min(0);
const roundTrips = z.int().min(0);

const check = z
  .strictObject({
    provider: provider.describe("The provider"),
    check: z.enum(CHECK_NAMES).describe("What was checked"),
    state: z
      .enum(CHECK_STATES)
      .describe("A warning counts as failed if the check is required; unsupported means not available"),
    detail: z.string().describe("What was found, or why not, in one line"),
    class: z
      .enum(ErrorClass.options)
      .optional()
      .describe("The error class with which an action would fail; absent if the check is ok"),
    durationMs: durationMs.optional().describe("Duration; absent if the check did not run"),
    roundTrips: roundTrips.optional().describe("The same in round trips"),
  })
  .describe("The result of one check with one provider");

const tally = z
  .strictObject({
    provider: provider.describe("In the order of the connection"),
    ok: z.int().min(0).describe("How many checks are ok"),
    checks: z.int().min(1).describe("Number of checks; only the login if the login failed"),
    durationMs: durationMs.describe("Total duration, including logout"),
    roundTrips: roundTrips.describe("The same in round trips"),
  })
  .describe("All checks of one provider");

const references = await loadCheckReferences();
const sumOf = (name: "redfish" | "ipmi") =>
  references.reduce((sum, { roundTrips: each }) => sum + (each[name] ?? 0), 0);
const NOT_PART = unsupported("not part of the provider redfish");

/** Recorded in a run against `npm run simulate -- redfish --latency 40`, with nothing listening on the port of IPMI. */
const redfish = references.map(({ name, example = NOT_PART, roundTrips: { redfish: each } }) => ({
  provider: "redfish" as const,
  check: name,
  ...example,
  ...defined({ roundTrips: each }),
}));
const IPMI_LOGIN = {
  ...failed("unreachable", "no IPMI answer within 5000 ms"),
  durationMs: 5035,
  roundTrips: 0,
};
const checked: readonly ProviderChecks[] = [
  {
    provider: "redfish",
    durationMs: 3525,
    roundTrips: sumOf("redfish"),
    endedBy: undefined,
    rows: redfish,
  },
  {
    provider: "ipmi",
    durationMs: 5035,
    roundTrips: 0,
    endedBy: "unreachable",
    rows: [{ provider: "ipmi", check: "login", ...IPMI_LOGIN }],
  },
];

export const reference = actionReference("check", {
  environment: { REQUIRE: "login,power,boot,clock", MAX_CLOCK_SKEW: "2m" },
  keywords: ["preflight", "diagnostics", "clock", "credentials"],
  readsOnly: true,
  mostRoundTrips: { redfish: sumOf("redfish"), ipmi: sumOf("ipmi") },
  output: {
    data: z.strictObject({
      checks: z.array(check).describe("One per provider and check, in the order of the checks"),
      providers: z.array(tally).describe("One per provider"),
    }),
  },
  result: {
    message: summarise(checked, ["login", "power", "boot", "clock"]),
    changed: false,
    durationMs: 8564,
    roundTrips: sumOf("redfish"),
    data: dataOf(checked),
  },
});
