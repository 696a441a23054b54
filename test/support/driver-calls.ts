import type { Session } from "../../shared/bmc/operations/provider.ts";
import { loadOperationReference } from "../../shared/bmc/operations/reference.ts";
import type { DriverName, Drivers } from "../../shared/bmc/operations/table.ts";

type Call = (session: Session, signal: AbortSignal) => unknown;

/** The calls of these drivers, by a name such as `power.read`. */
export async function driverCalls(names: readonly DriverName[]): Promise<ReadonlyMap<string, Call>> {
  return new Map((await Promise.all(names.map((name) => callsOf(name)))).flat());
}

async function callsOf<Name extends DriverName>(name: Name) {
  const reference = await loadOperationReference(name);
  const calls: Readonly<Record<string, (driver: Drivers[Name], signal: AbortSignal) => unknown>> =
    reference.calls;
  return Object.entries(calls).map(([method, call]) => {
    const onSession = (session: Session, signal: AbortSignal) => {
      const driver: Session[Name] = session[name];
      return driver ? call(driver as Drivers[Name], signal) : undefined;
    };
    return [`${name}.${method}`, onSession] as const;
  });
}
