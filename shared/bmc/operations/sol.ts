import { BmcError } from "../../contract/bmc-error.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { describeOffer, type OfferedDriver } from "./offer.ts";

/** Serial over LAN. */
export interface SolDriver extends OfferedDriver {
  /** The instances in use; undefined where the BMC cannot say. */
  active(signal: AbortSignal): Promise<readonly number[] | undefined>;
  /** Ends these instances, or without any given all that are in use; that one is not in use is success. */
  deactivate(signal: AbortSignal, instances?: readonly number[]): Promise<void>;
}

export interface SolReport {
  readonly changed: boolean;
  readonly summary: string;
}

/** Serial over LAN with retries in place; what `deactivateSol` needs and no more. */
export interface SolPort {
  /** The instances in use; undefined where the BMC cannot say. */
  active(): Promise<readonly number[] | undefined>;
  /** Ends these, or without any given what is in use. */
  deactivate(instances?: readonly number[]): Promise<void>;
  sleep(ms: number): Promise<void>;
}

interface SolDrivers {
  readonly sol: SolDriver;
}

export const solOperations = defineOperations({
  title: "end a serial-over-LAN session",
  methods: (run: Run<SolDrivers>) => ({
    /** Ends serial-over-LAN sessions that are open; that there is none is success. */
    deactivateSol: (signal: AbortSignal): Promise<SolReport> =>
      run(signal, (access) => deactivateSol(portOf(access, signal))),

    /** What `deactivateSol` would send; `before` is the instances in use, undefined where the BMC cannot say. */
    planSolDeactivation: (signal: AbortSignal): Promise<Plan<readonly number[] | undefined>> =>
      run(signal, (access) => planSolDeactivation(portOf(access, signal))),
  }),
  check: async ({ read }, signal) => describeOffer(await read(({ sol }) => sol.offered(signal))),
});

function portOf({ read, write, sleep }: Access<SolDrivers>, signal: AbortSignal): SolPort {
  return {
    active: () => read(({ sol }) => sol.active(signal)),
    deactivate: (instances) => write(({ sol }) => sol.deactivate(signal, instances)),
    sleep,
  };
}

const READ_BACK_DELAYS_MS = [0, 1_000, 4_000] as const;

/** Ends the sessions that are open and sees that they are, where the BMC can say. */
export async function deactivateSol(port: SolPort): Promise<SolReport> {
  const before = await port.active();
  if (before === undefined) {
    await port.deactivate();
    return { changed: true, summary: "SOL deactivated; the BMC cannot say whether a session was active" };
  }
  if (before.length === 0) return { changed: false, summary: "no SOL session is active" };
  await port.deactivate(before);
  for (const delayMs of READ_BACK_DELAYS_MS) {
    if (delayMs > 0) await port.sleep(delayMs);
    const active = await port.active();
    if (!active?.some((instance) => before.includes(instance))) {
      const ended = before.length === 1 ? "SOL session" : `${before.length} SOL sessions`;
      return { changed: true, summary: `${ended} ended` };
    }
  }
  throw new BmcError("verify", "the BMC accepted the end of the SOL session, which is still or again active");
}

/** What `deactivateSol` would do, for people. */
export async function planSolDeactivation(
  port: Pick<SolPort, "active">,
): Promise<Plan<readonly number[] | undefined>> {
  const before = await port.active();
  if (before === undefined) return { before, steps: ["SOL deactivation"] };
  return { before, steps: before.map((instance) => `SOL deactivation of instance ${instance}`) };
}
