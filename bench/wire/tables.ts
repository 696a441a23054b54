import { formatTable } from "../../shared/table.ts";
import { median } from "../figures.ts";
import { IPMI_BUDGETS, type IpmiWay, REDFISH_BUDGETS, type RedfishWay } from "./budgets.ts";
import { countIpmi, countIpmiClient } from "./ipmi.ts";
import { countIpmitool } from "./ipmitool.ts";
import { OPERATIONS } from "./operations.ts";
import { countRedfish, countRedfishClient } from "./redfish.ts";

export const REDFISH_WAYS: readonly RedfishWay[] = [
  "known path, basic",
  "unknown path, basic",
  "unknown path, new session",
];
export const IPMI_WAYS: readonly IpmiWay[] = ["cold", "cold, suite 3", "warm session"];

export interface CountTable {
  readonly text: string;
  /** What exceeds its budget, one line each. */
  readonly excesses: readonly string[];
}

export async function redfishCounts(): Promise<CountTable> {
  const rows: string[][] = [];
  const excesses: string[] = [];
  for (const operation of OPERATIONS) {
    const { requests: budgets, peers } = REDFISH_BUDGETS[operation];
    for (const way of REDFISH_WAYS) {
      const { requests, connections } = await countRedfish(operation, way);
      const whole = await countRedfishClient(operation, way);
      const within = requests <= budgets[way] && connections === 1 && whole.connections === 1;
      const row = [operation, way, requests, budgets[way], connections, whole.requests].map(String);
      rows.push([...row, peers, within ? "" : "EXCEEDED"]);
      if (!within) {
        excesses.push(`redfish, ${operation}, ${way}: ${requests} requests, ${connections} connections`);
      }
    }
  }
  const head = ["redfish: operation", "way", "requests", "budget", "TCP", "BmcClient", "peers", ""];
  return { text: formatTable(head, rows, [2, 3, 4, 5]), excesses };
}

export async function ipmiCounts(withIpmitool: boolean): Promise<CountTable> {
  const rows: string[][] = [];
  const excesses: string[] = [];
  for (const operation of OPERATIONS) {
    const { roundTrips: budgets, peers } = IPMI_BUDGETS[operation];
    const tool = withIpmitool ? (await countIpmitool(operation)).roundTrips : "-";
    const whole = await countIpmiClient(operation);
    for (const way of IPMI_WAYS) {
      const { roundTrips, packetsUp, packetsDown } = await countIpmi(operation, way);
      const within = roundTrips <= budgets[way];
      const packets = `${packetsUp}+${packetsDown}`;
      // What does not depend on the way is told once.
      const others = way === "cold" ? [whole.roundTrips, tool] : ["", ""];
      const row = [operation, way, roundTrips, budgets[way], packets, ...others].map(String);
      rows.push([...row, peers, within ? "" : "EXCEEDED"]);
      if (!within) excesses.push(`ipmi, ${operation}, ${way}: ${roundTrips} round trips`);
    }
  }
  const head = [
    "ipmi: operation",
    "way",
    "round trips",
    "budget",
    "packets up+down",
    "BmcClient",
    "ipmitool now",
    "peers",
    "",
  ];
  return { text: formatTable(head, rows, [2, 3, 4, 5, 6]), excesses };
}

/** Medians of the time to the result with a wire that takes its time. For comparing, not for passing. */
export async function redfishTimes(roundTripMs: number, runs: number): Promise<string> {
  const rows: string[][] = [];
  for (const operation of OPERATIONS) {
    const row: string[] = [operation];
    for (const way of REDFISH_WAYS) {
      row.push(await timed(runs, () => countRedfish(operation, way, roundTripMs)));
    }
    rows.push(row);
  }
  return formatTable([`redfish at ${roundTripMs} ms a round trip`, ...REDFISH_WAYS], rows, [1, 2, 3]);
}

export async function ipmiTimes(roundTripMs: number, runs: number, withIpmitool: boolean): Promise<string> {
  const rows: string[][] = [];
  for (const operation of OPERATIONS) {
    const cold = await timed(runs, () => countIpmi(operation, "cold", roundTripMs));
    const warm = await timed(runs, () => countIpmi(operation, "warm session", roundTripMs));
    const tool = withIpmitool ? await timed(runs, () => countIpmitool(operation, roundTripMs)) : "-";
    rows.push([operation, cold, warm, tool]);
  }
  const head = [`ipmi at ${roundTripMs} ms a round trip`, "cold", "warm session", "ipmitool"];
  return formatTable(head, rows, [1, 2, 3]);
}

async function timed(runs: number, measure: () => Promise<{ readonly ms: number }>): Promise<string> {
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) times.push((await measure()).ms);
  return `${median(times).toFixed(0)} ms`;
}
