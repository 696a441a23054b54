import type { Access, OperationSet, Run } from "./access.ts";
import { biosOperations } from "./bios.ts";
import { bootOperations } from "./boot.ts";
import { bootOrderOperations } from "./bootorder.ts";
import { consoleOperations } from "./console.ts";
import { eraseOperations } from "./erase.ts";
import type { Finding } from "./finding.ts";
import { firmwareOperations } from "./firmware.ts";
import { httpBootOperations } from "./httpboot.ts";
import { httpsOperations } from "./https.ts";
import { indicatorOperations } from "./indicator.ts";
import { inventoryOperations } from "./inventory.ts";
import { managerOperations } from "./manager.ts";
import { mediaOperations } from "./media.ts";
import { networkOperations } from "./network.ts";
import { nmiOperations } from "./nmi.ts";
import { ntpOperations } from "./ntp.ts";
import { powerOperations } from "./power.ts";
import { powerHistoryOperations } from "./powerhistory.ts";
import { powerLimitOperations } from "./powerlimit.ts";
import { raidOperations } from "./raid.ts";
import { restoreOperations } from "./restore.ts";
import { screenshotOperations } from "./screenshot.ts";
import { secureBootOperations } from "./secureboot.ts";
import { secureBootKeyOperations } from "./securebootkeys.ts";
import { selOperations } from "./sel.ts";
import { sensorOperations } from "./sensors.ts";
import { solOperations } from "./sol.ts";
import { userOperations } from "./users.ts";

/**
 * All operations, by the name of their driver in a session. The methods of the client, the drivers of a session, the
 * checks, the library's documentation and the fuzzed calls derive from it, in this order.
 */
export const OPERATIONS = {
  power: powerOperations,
  boot: bootOperations,
  manager: managerOperations,
  ntp: ntpOperations,
  media: mediaOperations,
  users: userOperations,
  sel: selOperations,
  inventory: inventoryOperations,
  firmware: firmwareOperations,
  bootorder: bootOrderOperations,
  httpboot: httpBootOperations,
  bios: biosOperations,
  secureboot: secureBootOperations,
  securebootkeys: secureBootKeyOperations,
  indicator: indicatorOperations,
  restore: restoreOperations,
  powerlimit: powerLimitOperations,
  powerhistory: powerHistoryOperations,
  sensors: sensorOperations,
  network: networkOperations,
  https: httpsOperations,
  raid: raidOperations,
  erase: eraseOperations,
  sol: solOperations,
  console: consoleOperations,
  nmi: nmiOperations,
  screenshot: screenshotOperations,
};

type Table = typeof OPERATIONS;
/** A set of operations. */
export type DriverName = keyof Table;

type DriversOf<Name extends DriverName> =
  Table[Name] extends OperationSet<infer Drivers, infer _> ? Drivers : never;

/** The driver of each set of operations. */
export type Drivers = {
  readonly [Name in DriverName]: Name extends keyof DriversOf<Name> ? DriversOf<Name>[Name] : never;
};

/** The drivers that every provider has. */
type Common = "power" | "boot";

/** A set of operations that not every provider has. */
export type Capability = Exclude<DriverName, Common>;

export const DRIVER_NAMES = Object.keys(OPERATIONS) as readonly DriverName[];
export const CAPABILITIES: readonly Capability[] = DRIVER_NAMES.filter(isCapability);

export function isCapability(name: DriverName): name is Capability {
  return name !== "power" && name !== "boot";
}

/** The capabilities whose availability can be checked without using them. */
export type OfferedCapability = "sol" | "nmi" | "screenshot";

type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/** The methods of all operations. */
export type OperationMethods = Intersection<ReturnType<Table[DriverName]["methods"]>>;

/** Runs an operation with a provider that has this driver. */
type RunWith = <T>(
  name: DriverName,
  signal: AbortSignal,
  operation: (access: Access<Drivers>) => Promise<T>,
) => Promise<T>;

export function operationMethods(runWith: RunWith): OperationMethods {
  const sets = DRIVER_NAMES.map((name) =>
    methodsOf(name, (signal, operation) => runWith(name, signal, operation)),
  );
  return Object.assign({}, ...sets) as OperationMethods;
}

function methodsOf(name: DriverName, run: Run<Drivers>): object {
  const methods: (run: Run<Drivers>) => object = OPERATIONS[name].methods;
  return methods(run);
}

export function checkOf(
  name: DriverName,
): (access: Access<Drivers>, signal: AbortSignal) => Promise<Finding> {
  return OPERATIONS[name].check;
}
