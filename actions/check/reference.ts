import { z } from "zod";
import { CHECK_STATES, type Finding, failed, ok, unsupported } from "../../shared/bmc/operations/finding.ts";
import { ErrorClass } from "../../shared/contract/error-class.ts";
import { ProviderName } from "../../shared/contract/vocabulary.ts";
import { actionReference } from "../harness/input/reference.ts";
import type { CheckRow } from "./checks.ts";
import { CHECK_NAMES, type CheckName } from "./checks.ts";

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

const row = (
  name: CheckName,
  finding: Finding,
  cost: Pick<CheckRow, "durationMs" | "roundTrips"> = {},
): CheckRow => ({ provider: "redfish", check: name, ...finding, ...cost });

const checks: readonly CheckRow[] = [
  row("login", ok("2 round trips"), { durationMs: 121, roundTrips: 2 }),
  row("certificate", ok("expires in 211 days, on 2027-06-20"), { durationMs: 0, roundTrips: 0 }),
  row("power", ok("on"), { durationMs: 0, roundTrips: 0 }),
  row("boot", ok("pxe once (uefi)"), { durationMs: 44, roundTrips: 1 }),
  row("manager", ok("Contoso BMC-2000, firmware 1.45"), { durationMs: 83, roundTrips: 2 }),
  row("clock", ok("within 0.5 s of this host's"), { durationMs: 41, roundTrips: 1 }),
  row("ntp", ok("NTP on (192.0.2.123)"), { durationMs: 40, roundTrips: 1 }),
  row("media", ok("an empty drive"), { durationMs: 126, roundTrips: 3 }),
  row("users", ok("2 users"), { durationMs: 129, roundTrips: 3 }),
  row("sel", ok("38 entries"), { durationMs: 214, roundTrips: 3 }),
  row("inventory", ok("Contoso 3500, 2 processors, 8 memory modules, 4 disks, 2 NICs"), {
    durationMs: 940,
    roundTrips: 24,
  }),
  row("firmware", ok("2 firmware entries"), { durationMs: 172, roundTrips: 5 }),
  row("bootorder", ok("boot order Hard Drive, PXE NIC 1"), { durationMs: 166, roundTrips: 5 }),
  row("httpboot", ok("HTTP boot from the DHCP server's URI (by HttpBootUri)"), {
    durationMs: 41,
    roundTrips: 1,
  }),
  row("bios", ok("312 BIOS attributes"), { durationMs: 82, roundTrips: 2 }),
  row("secureboot", ok("Secure Boot off (user mode)"), { durationMs: 41, roundTrips: 1 }),
  row("securebootkeys", ok("PK, KEK, db, dbx"), { durationMs: 83, roundTrips: 2 }),
  row("indicator", ok("off"), { durationMs: 42, roundTrips: 1 }),
  row("restore", ok("last-state"), { durationMs: 40, roundTrips: 1 }),
  row("powerlimit", ok("no power limit"), { durationMs: 83, roundTrips: 2 }),
  row("powerhistory", ok("last restart at 2026-01-15T18:59:02.000Z, firmware state OSRunning"), {
    durationMs: 41,
    roundTrips: 1,
  }),
  row("sensors", ok("offered"), { durationMs: 41, roundTrips: 1 }),
  row("network", ok("static 192.0.2.11/24, gateway 192.0.2.1, host name bmc-7"), {
    durationMs: 82,
    roundTrips: 2,
  }),
  row("https", ok("offered"), { durationMs: 82, roundTrips: 2 }),
  row("raid", ok("2 drives, 1 volume (os RAID1)"), { durationMs: 205, roundTrips: 5 }),
  row("erase", ok("2 of 2 drives"), { durationMs: 164, roundTrips: 4 }),
  row("sol", unsupported("not part of the provider redfish")),
  row("console", unsupported("the BMC lists no serial console over SSH"), { durationMs: 0, roundTrips: 0 }),
  row("nmi", ok("offered"), { durationMs: 0, roundTrips: 0 }),
  row("screenshot", unsupported("the BMC offers no screenshot"), { durationMs: 0, roundTrips: 0 }),
  {
    ...row("login", failed("unreachable", "no IPMI answer within 5000 ms"), {
      durationMs: 5_003,
      roundTrips: 0,
    }),
    provider: "ipmi",
  },
];

export const reference = actionReference("check", {
  environment: { REQUIRE: "login,power,boot,clock", MAX_CLOCK_SKEW: "2m" },
  keywords: ["preflight", "diagnostics", "clock", "credentials"],
  readsOnly: true,
  output: {
    data: z.strictObject({
      checks: z.array(check).describe("One per provider and check, in the order of the checks"),
      providers: z.array(tally).describe("One per provider"),
    }),
  },
  result: {
    message: "all 4 required checks passed; redfish: 27 of 30, ipmi: not reachable",
    changed: false,
    durationMs: 6_752,
    roundTrips: 40,
    data: {
      checks,
      providers: [
        { provider: "redfish", ok: 12, checks: 14, durationMs: 1_741, roundTrips: 40 },
        { provider: "ipmi", ok: 0, checks: 1, durationMs: 5_004, roundTrips: 0 },
      ],
    },
  },
});
