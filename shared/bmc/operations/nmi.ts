import { BmcError } from "../../contract/bmc-error.ts";
import type { PowerState } from "../../contract/vocabulary.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { describeOffer, type OfferedDriver } from "./finding.ts";
import type { PowerDriver } from "./power.ts";
import { sendOnce } from "./read-back.ts";

export interface NmiDriver extends OfferedDriver {
  /** What `send` would put on the wire, in one line for people. Throws as `offered` does. */
  plan(signal: AbortSignal): Promise<string>;
  /** Raises a non-maskable interrupt. Not idempotent: never repeated after a lost answer. */
  send(signal: AbortSignal): Promise<void>;
}

/** Result of an NMI. */
export interface NmiReport {
  /** The power state before the NMI. */
  readonly before: PowerState;
  /** An NMI is always sent. */
  readonly changed: true;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type NmiDrivers = { readonly power: PowerDriver; readonly nmi: NmiDriver };

export const nmiOperations = defineOperations({
  title: "NMI",
  methods: (run: Run<NmiDrivers>) => ({
    /** Raises a non-maskable interrupt once; the machine must be on. */
    sendNmi: (signal: AbortSignal = neverAborted()): Promise<NmiReport> =>
      run(signal, (access) => sendNmi(portOf(access, signal))),

    /** What `sendNmi` would send. */
    planNmi: (signal: AbortSignal = neverAborted()): Promise<Plan<PowerState>> =>
      run(signal, (access) => planNmi(portOf(access, signal))),
  }),
  check: async ({ read }, signal) => describeOffer(await read(({ nmi }) => nmi.offered(signal))),
});

/** The diagnostic interrupt with retries in place; what `sendNmi` needs and no more. */
type NmiPort = ReturnType<typeof portOf>;

function portOf({ read, write }: Access<NmiDrivers>, signal: AbortSignal) {
  return {
    getPower: () => read(({ power }) => power.read(signal)),
    plan: () => read(({ nmi }) => nmi.plan(signal)),
    send: () => write(({ nmi }) => nmi.send(signal)),
  };
}

/** Raises an NMI once, and never repeats it after a lost answer. Its effect cannot be read back. */
export async function sendNmi(port: NmiPort): Promise<NmiReport> {
  const before = await target(port);
  await sendOnce(port.send, "the NMI may have been raised");
  return { before, changed: true, summary: "NMI sent" };
}

export async function planNmi(port: NmiPort): Promise<Plan<PowerState>> {
  const before = await target(port);
  return { before, steps: [await port.plan()] };
}

async function target(port: NmiPort): Promise<PowerState> {
  const power = await port.getPower();
  if (power === "off") throw new BmcError("state", "the machine is off: it cannot receive an NMI");
  return power;
}
