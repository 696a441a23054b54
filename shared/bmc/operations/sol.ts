import { BmcError } from "../../contract/bmc-error.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { describeOffer, type OfferedDriver } from "./finding.ts";
import { awaitState, READ_BACK_MS } from "./read-back.ts";

export interface SolDriver extends OfferedDriver {
  /** The instances in use; undefined where the BMC cannot say. */
  active(signal: AbortSignal): Promise<readonly number[] | undefined>;
  /** Ends these instances. Default: all that are in use. Succeeds if an instance is not in use. */
  deactivate(signal: AbortSignal, instances?: readonly number[]): Promise<void>;
}

/** Result of ending serial-over-LAN sessions. */
export interface SolReport {
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type SolDrivers = { readonly sol: SolDriver };

export const solOperations = defineOperations({
  title: "serial-over-LAN session",
  methods: (run: Run<SolDrivers>) => ({
    /** Ends serial-over-LAN sessions that are open; that there is none is success. */
    deactivateSol: (signal: AbortSignal = neverAborted()): Promise<SolReport> =>
      run(signal, (access) => deactivateSol(portOf(access, signal))),

    /** What `deactivateSol` would send; `before` is the instances in use, undefined where the BMC cannot say. */
    planSolDeactivation: (
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<readonly number[] | undefined>> =>
      run(signal, (access) => planSolDeactivation(portOf(access, signal))),
  }),
  check: async ({ read }, signal) => describeOffer(await read(({ sol }) => sol.offered(signal))),
});

/** Serial over LAN with retries in place; what `deactivateSol` needs and no more. */
type SolPort = ReturnType<typeof portOf>;

function portOf({ read, write, sleep }: Access<SolDrivers>, signal: AbortSignal) {
  return {
    active: () => read(({ sol }) => sol.active(signal)),
    deactivate: (instances?: readonly number[]) => write(({ sol }) => sol.deactivate(signal, instances)),
    sleep,
  };
}

/** Ends the open sessions, and verifies that they have ended if the BMC can report it. */
export async function deactivateSol(port: SolPort): Promise<SolReport> {
  const before = await port.active();
  if (before === undefined) {
    await port.deactivate();
    return { changed: true, summary: "SOL deactivated; the BMC cannot say whether a session was active" };
  }
  if (before.length === 0) return { changed: false, summary: "no SOL session is active" };
  await port.deactivate(before);
  const isEnded = (active: readonly number[] | undefined) =>
    !active?.some((instance) => before.includes(instance));
  if (isEnded(await awaitState(READ_BACK_MS.setting, port, () => port.active(), isEnded))) {
    const ended = before.length === 1 ? "SOL session" : `${before.length} SOL sessions`;
    return { changed: true, summary: `${ended} ended` };
  }
  throw new BmcError("verify", "the BMC accepted the end of the SOL session, which is still or again active");
}

export async function planSolDeactivation(
  port: Pick<SolPort, "active">,
): Promise<Plan<readonly number[] | undefined>> {
  const before = await port.active();
  if (before === undefined) return { before, steps: ["SOL deactivation"] };
  return { before, steps: before.map((instance) => `SOL deactivation of instance ${instance}`) };
}
