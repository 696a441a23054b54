import type { Operation } from "./operations.ts";

/** What a session knows before it begins: everything, nothing, or nothing and it has to log in first. */
export type RedfishWay = "known path, basic" | "unknown path, basic" | "unknown path, new session";

interface RedfishBudget {
  /** Requests until the result, the read-back included. */
  readonly requests: Readonly<Record<RedfishWay, number>>;
  /** The best of the peers, as counted on their wire. */
  readonly peers: string;
}

/** Requests on the wire; the logout of a session comes after the result and is not among them. */
export const REDFISH_BUDGETS: Readonly<Record<Operation, RedfishBudget>> = {
  "power state": {
    requests: { "known path, basic": 1, "unknown path, basic": 2, "unknown path, new session": 3 },
    peers: "bmclib 3; sushy 3 cold, 1 warm",
  },
  "power on from off, unverified": {
    requests: { "known path, basic": 1, "unknown path, basic": 3, "unknown path, new session": 4 },
    peers: "bmclib 4; sushy 6 cold, 4 warm",
  },
  "off, verified at the first poll": {
    requests: { "known path, basic": 2, "unknown path, basic": 4, "unknown path, new session": 5 },
    peers: "bmclib 6; sushy 6 cold, 4 warm",
  },
  "PXE once, UEFI, read back": {
    requests: { "known path, basic": 2, "unknown path, basic": 4, "unknown path, new session": 5 },
    peers: "bmclib 4; sushy 5 cold, 3 warm",
  },
  "8 sensors": {
    // The list of chassis, the service root for $expand, and Sensors beside Thermal and Power: each may hold what others lack.
    requests: { "known path, basic": 7, "unknown path, basic": 8, "unknown path, new session": 9 },
    peers: "-",
  },
};

/** `cold` is from nothing; `cold, suite 3` meets a BMC without cipher suite 17 that a hint says so of. */
export type IpmiWay = "cold" | "cold, suite 3" | "warm session";

interface IpmiBudget {
  /** Round trips until the result, the read-back included. */
  readonly roundTrips: Readonly<Record<IpmiWay, number>>;
  readonly peers: string;
}

const ipmiBudget = (cold: number, warm: number, peers: string): IpmiBudget => ({
  roundTrips: { cold, "cold, suite 3": cold, "warm session": warm },
  peers,
});

/** Round trips; Close Session is not waited for and not among them. */
export const IPMI_BUDGETS: Readonly<Record<Operation, IpmiBudget>> = {
  "power state": ipmiBudget(4, 1, "ipmitool 11, go-ipmi 7, freeipmi 7"),
  "power on from off, unverified": ipmiBudget(5, 1, "ipmitool 11, go-ipmi 9, freeipmi 7"),
  "off, verified at the first poll": ipmiBudget(6, 2, "ipmitool 22, go-ipmi 9, freeipmi 8"),
  "PXE once, UEFI, read back": ipmiBudget(6, 2, "ipmitool 13 to 15, go-ipmi 7"),
  "8 sensors": ipmiBudget(16, 13, "ipmitool 57"),
};
