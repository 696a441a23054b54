import { defined } from "../../defined.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Patience, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { changeSetting, readIfPossible, reported } from "./read-back.ts";

/** The state of the identify LED. `timed` is on for some seconds, as after pressing the button on the machine. */
export type IndicatorState = "on" | "timed" | "off";

export interface IndicatorDriver {
  /** Reads the state. Resolves to undefined if it cannot be read back. */
  read(signal: AbortSignal): Promise<IndicatorState | undefined>;
  plan(lit: boolean, signal: AbortSignal): Promise<string>;
  write(lit: boolean, signal: AbortSignal): Promise<void>;
}

/** The result of switching the identify LED. */
export interface IndicatorReport {
  /** The state before the change; absent if the BMC cannot show it. */
  readonly before?: IndicatorState;
  /** The state that was read back; absent if the BMC cannot show it. */
  readonly after?: IndicatorState;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** The result in one line for display. */
  readonly summary: string;
}

type IndicatorDrivers = { readonly indicator: IndicatorDriver };

export const indicatorOperations = defineOperations({
  title: "identify LED",
  methods: (run: Run<IndicatorDrivers>) => ({
    /** Reads the identify LED. */
    getIndicator: (signal: AbortSignal = neverAborted()): Promise<IndicatorState> =>
      run(signal, async ({ read }) =>
        reported("identify LED", await read(({ indicator }) => indicator.read(signal))),
      ),

    /** Switches the identify LED on permanently, or off, and reads it back. */
    setIndicator: (lit: boolean, signal: AbortSignal = neverAborted()): Promise<IndicatorReport> =>
      run(signal, (access) => setIndicator(portOf(access, signal), lit)),

    /** Returns what `setIndicator` would send. */
    planIndicator: (
      lit: boolean,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<IndicatorState | undefined>> =>
      run(signal, async ({ read }) => {
        const before = await readIfPossible(() => read(({ indicator }) => indicator.read(signal)));
        const step = () => read(({ indicator }) => indicator.plan(lit, signal));
        return { before, steps: before === asked(lit) ? [] : [await step()] };
      }),
  }),
  check: async ({ read }, signal) => {
    const state = await read(({ indicator }) => indicator.read(signal));
    return ok(state ?? "can be set, cannot be read back");
  },
});

/** The identify LED operations of one machine, with retries. */
type IndicatorPort = ReturnType<typeof portOf>;

function portOf({ read, write, insist, sleep }: Access<IndicatorDrivers>, signal: AbortSignal) {
  return {
    read: () => read(({ indicator }) => indicator.read(signal)),
    write: (lit: boolean, patience?: Patience) =>
      write(({ indicator }) => indicator.write(lit, signal), patience),
    insist,
    sleep,
  };
}

async function setIndicator(port: IndicatorPort, lit: boolean): Promise<IndicatorReport> {
  const state = asked(lit);
  const { before, after, changed } = await changeSetting(
    { ...port, write: (patience) => port.write(lit, patience), repairing: () => undefined },
    { asked: `identify LED ${state}`, isSet: (read) => read === state, describe: (read) => read },
  );
  const how = !changed ? "already " : "";
  const unread = after === undefined ? " accepted, cannot be read back" : "";
  return { ...defined({ before, after }), changed, summary: `identify LED ${how}${state}${unread}` };
}

const asked = (lit: boolean): IndicatorState => (lit ? "on" : "off");
