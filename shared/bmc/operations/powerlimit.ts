import { BmcError } from "../../contract/bmc-error.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Patience, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { changeSetting } from "./read-back.ts";

/** The power limit of a machine, in watts; a field that the BMC does not report is absent. */
export interface PowerLimit {
  /** The limit in force; absent if there is none. */
  readonly watts?: number;
  /** What the machine draws now. */
  readonly consumedWatts?: number;
  /** The lowest limit that the BMC accepts. */
  readonly minWatts?: number;
  /** The highest limit that the BMC accepts. */
  readonly maxWatts?: number;
}

export interface PowerLimitDriver {
  read(signal: AbortSignal): Promise<PowerLimit>;
  /** `undefined` removes the limit. */
  plan(watts: number | undefined, signal: AbortSignal): Promise<string>;
  write(watts: number | undefined, signal: AbortSignal): Promise<void>;
}

/** Result of setting a power limit. */
export interface PowerLimitReport {
  /** The limit before the change. */
  readonly before: PowerLimit;
  /** The limit as read back. */
  readonly after: PowerLimit;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type PowerLimitDrivers = { readonly powerlimit: PowerLimitDriver };

export const powerLimitOperations = defineOperations({
  title: "power limit",
  methods: (run: Run<PowerLimitDrivers>) => ({
    /** Reads the machine's power limit. */
    getPowerLimit: (signal: AbortSignal = neverAborted()): Promise<PowerLimit> =>
      run(signal, ({ read }) => read(({ powerlimit }) => powerlimit.read(signal))),

    /** Sets the machine's power limit in watts, or removes it, and reads it back. */
    setPowerLimit: (
      watts: number | undefined,
      signal: AbortSignal = neverAborted(),
    ): Promise<PowerLimitReport> => run(signal, (access) => setLimit(portOf(access, signal), watts)),

    /** What `setPowerLimit` would send. */
    planPowerLimit: (
      watts: number | undefined,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<PowerLimit>> =>
      run(signal, async (access) => {
        const port = portOf(access, signal);
        const before = await port.read();
        checkRange(watts, before);
        return { before, steps: before.watts === watts ? [] : [await port.plan(watts)] };
      }),
  }),
  check: async (access, signal) => ok(describePowerLimit(await portOf(access, signal).read())),
});

/** The power limit with retries in place; what `setPowerLimit` needs and no more. */
type PowerLimitPort = ReturnType<typeof portOf>;

function portOf({ read, write, insist, sleep }: Access<PowerLimitDrivers>, signal: AbortSignal) {
  return {
    read: () => read(({ powerlimit }) => powerlimit.read(signal)),
    plan: (watts: number | undefined) => read(({ powerlimit }) => powerlimit.plan(watts, signal)),
    write: (watts: number | undefined, patience?: Patience) =>
      write(({ powerlimit }) => powerlimit.write(watts, signal), patience),
    insist,
    sleep,
  };
}

async function setLimit(port: PowerLimitPort, watts: number | undefined): Promise<PowerLimitReport> {
  const change = await changeSetting(
    { ...port, write: (patience) => port.write(watts, patience) },
    {
      asked: describePowerLimit(watts === undefined ? {} : { watts }),
      isSet: (state) => state.watts === watts,
      describe: describePowerLimit,
      check: (before) => checkRange(watts, before),
    },
  );
  return { ...change, summary: `${change.changed ? "" : "already "}${describePowerLimit(change.after)}` };
}

function checkRange(watts: number | undefined, { minWatts = 0, maxWatts = Infinity }: PowerLimit): void {
  if (watts === undefined || (watts >= minWatts && watts <= maxWatts)) return;
  const range = maxWatts === Infinity ? `at least ${minWatts}` : `${minWatts} to ${maxWatts}`;
  throw new BmcError("unsupported", `the BMC takes a power limit of ${range} W`);
}

/** For people: `power limit 400 W`, `no power limit`. */
export function describePowerLimit({ watts }: PowerLimit): string {
  return watts === undefined ? "no power limit" : `power limit ${watts} W`;
}
