import type { Finding } from "./finding.ts";
import type { DriverName, Drivers } from "./table.ts";

/** A call of every method of a driver, with arguments as an action might give them. */
type Calls<Driver> = {
  [Method in keyof Driver as NonNullable<Driver[Method]> extends (...given: never[]) => unknown
    ? Method
    : never]-?: (driver: Driver, signal: AbortSignal) => unknown;
};

/**
 * What documents and tests say of a set of operations beyond its definition. Each set has one in `references/<name>.ts`, which no
 * program loads.
 */
export interface OperationReference<Name extends DriverName = DriverName> {
  readonly check: CheckReference;
  /** Calls of the driver, for fuzzing. A missing one is a type error. */
  readonly calls: Calls<Drivers[Name]>;
}

/** One row of the page of checks. */
export interface CheckReference {
  /** What `ok` means. */
  readonly means: string;
  /** Round trips with this project's simulators, per provider that has the driver. */
  readonly roundTrips: { readonly redfish?: number; readonly ipmi?: number };
  /** What Redfish reports in the example of the action `check`; absent if it has no such driver. */
  readonly example?: Finding & { readonly durationMs: number };
}

/** The reference of the set of operations of this name. A missing call of the driver is a type error. */
export function operationReference<Name extends DriverName>(
  _name: Name,
  reference: OperationReference<Name>,
): OperationReference<Name> {
  return reference;
}

export async function loadOperationReference<Name extends DriverName>(
  name: Name,
): Promise<OperationReference<Name>> {
  const loaded: { readonly reference: OperationReference<Name> } = await import(`./references/${name}.ts`);
  return loaded.reference;
}
