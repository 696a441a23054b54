import { z } from "zod";
import { CHECK_STATES, failed, ok, unsupported } from "../../shared/bmc/operations/finding.ts";
import { ErrorClass } from "../../shared/contract/error-class.ts";
import { ProviderName } from "../../shared/contract/vocabulary.ts";
import { actionReference } from "../harness/input/reference.ts";
import type { ProviderChecks } from "./check-provider.ts";
import { CHECK_NAMES, type CheckName, type CheckRow } from "./checks.ts";
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

/** Recorded in a run against `npm run simulate -- redfish --latency 40`; nothing answered at the port of IPMI. */
const REDFISH: Readonly<Record<CheckName, Omit<CheckRow, "provider" | "check">>> = {
  login: { ...ok("2 round trips"), durationMs: 241, roundTrips: 2 },
  certificate: { ...ok("expires in 364 days, on 2027-11-27"), durationMs: 0, roundTrips: 0 },
  power: { ...ok("on"), durationMs: 0, roundTrips: 0 },
  boot: { ...ok("none"), durationMs: 45, roundTrips: 1 },
  manager: { ...ok("Contoso 3500, firmware 1.2.3"), durationMs: 89, roundTrips: 2 },
  clock: { ...ok("within 0.5 s of this host's"), durationMs: 44, roundTrips: 1 },
  ntp: { ...ok("NTP off"), durationMs: 44, roundTrips: 1 },
  media: { ...ok("an empty drive"), durationMs: 135, roundTrips: 3 },
  users: { ...ok("1 user"), durationMs: 87, roundTrips: 2 },
  sel: { ...ok("0 entries"), durationMs: 129, roundTrips: 3 },
  inventory: {
    ...ok("Contoso 3500, 2 processors, 3 memory modules, 2 disks, 2 NICs, 2 firmware versions"),
    durationMs: 1171,
    roundTrips: 27,
  },
  firmware: { ...ok("2 firmware entries"), durationMs: 215, roundTrips: 5 },
  bootorder: { ...ok("boot order Hard Drive, PXE NIC 1, UEFI Shell"), durationMs: 217, roundTrips: 5 },
  httpboot: { ...ok("HTTP boot from the DHCP server's URI (by HttpBootUri)"), durationMs: 44, roundTrips: 1 },
  bios: { ...ok("11 BIOS attributes"), durationMs: 89, roundTrips: 2 },
  secureboot: { ...ok("Secure Boot off (user mode)"), durationMs: 46, roundTrips: 1 },
  securebootkeys: { ...ok("PK, KEK, db, dbx"), durationMs: 87, roundTrips: 2 },
  indicator: { ...ok("off"), durationMs: 46, roundTrips: 1 },
  restore: { ...ok("always-off"), durationMs: 44, roundTrips: 1 },
  powerlimit: { ...ok("no power limit"), durationMs: 91, roundTrips: 2 },
  powerhistory: { ...ok("only the logs may tell of the last restart"), durationMs: 45, roundTrips: 1 },
  sensors: { ...ok("offered"), durationMs: 45, roundTrips: 1 },
  network: {
    ...ok("static 192.0.2.11/24, gateway 192.0.2.1, host name bmc-7"),
    durationMs: 88,
    roundTrips: 2,
  },
  https: { ...ok("offered"), durationMs: 86, roundTrips: 2 },
  raid: { ...ok("2 drives, no volumes"), durationMs: 217, roundTrips: 5 },
  erase: { ...ok("2 of 2 drives"), durationMs: 171, roundTrips: 4 },
  sol: { ...unsupported("not part of the provider redfish") },
  console: { ...unsupported("the BMC lists no serial console over SSH"), durationMs: 1, roundTrips: 0 },
  nmi: { ...ok("offered"), durationMs: 0, roundTrips: 0 },
  screenshot: { ...unsupported("the BMC offers no screenshot"), durationMs: 0, roundTrips: 0 },
};
const IPMI_LOGIN = {
  ...failed("unreachable", "no IPMI answer within 5000 ms"),
  durationMs: 5035,
  roundTrips: 0,
};
const checked: readonly ProviderChecks[] = [
  {
    provider: "redfish",
    durationMs: 3525,
    roundTrips: 77,
    endedBy: undefined,
    rows: CHECK_NAMES.map((name) => ({ provider: "redfish", check: name, ...REDFISH[name] })),
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
  mostRoundTrips: { redfish: 77, ipmi: 37 },
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
    roundTrips: checked.reduce((sum, { roundTrips: each }) => sum + each, 0),
    data: dataOf(checked),
  },
});
