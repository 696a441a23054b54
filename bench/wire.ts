import { hasIpmitool } from "./wire/ipmitool.ts";
import { ipmiCounts, ipmiTimes, redfishCounts, redfishTimes } from "./wire/tables.ts";

/**
 * `npm run bench:wire`: counts what each operation puts on the wire, through a proxy in front of simulated BMCs,
 * beside its budget and what the peers need. Exits 1 when a budget is exceeded; the times are for comparing.
 */
const REDFISH_ROUND_TRIP_MS = 200;
const IPMI_ROUND_TRIP_MS = 20;

const withIpmitool = await hasIpmitool();
const counts = [await redfishCounts(), await ipmiCounts(withIpmitool)];
for (const { text } of counts) process.stdout.write(`${text}\n\n`);
process.stdout.write(`${await redfishTimes(REDFISH_ROUND_TRIP_MS, 3)}\n\n`);
process.stdout.write(`${await ipmiTimes(IPMI_ROUND_TRIP_MS, 5, withIpmitool)}\n\n`);
if (!withIpmitool) process.stdout.write("ipmitool is not installed: nothing was measured with it\n\n");

const excesses = counts.flatMap((table) => table.excesses);
for (const excess of excesses) process.stderr.write(`over budget: ${excess}\n`);
if (excesses.length > 0) process.exitCode = 1;
