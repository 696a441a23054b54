import { BmcError } from "../../contract/bmc-error.ts";
import type { PowerState } from "../../contract/vocabulary.ts";

export interface NmiReport {
  /** The power as it was read before. */
  readonly before: PowerState;
  readonly changed: true;
  readonly summary: string;
}

/** The diagnostic interrupt with retries in place; what `sendNmi` needs and no more. */
export interface NmiPort {
  readPower(): Promise<PowerState>;
  /** Throws `unsupported` where the BMC is known not to offer it. */
  plan(): Promise<string>;
  send(): Promise<void>;
}

/** Raises an NMI once, whatever becomes of its answer. Nothing tells afterwards that it was taken. */
export async function sendNmi(port: NmiPort): Promise<NmiReport> {
  const before = await target(port);
  try {
    await port.send();
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (!error.uncertain) throw error;
    const text = `${error.message}; the NMI may have been raised and is not sent again`;
    throw new BmcError(error.class, text, { cause: error, uncertain: true });
  }
  return { before, changed: true, summary: "NMI sent" };
}

/** What `sendNmi` would do, for people. */
export async function planNmi(
  port: Pick<NmiPort, "readPower" | "plan">,
): Promise<{ readonly before: PowerState; readonly steps: readonly string[] }> {
  const before = await target(port);
  return { before, steps: [await port.plan()] };
}

async function target(port: Pick<NmiPort, "readPower">): Promise<PowerState> {
  const power = await port.readPower();
  if (power === "off") throw new BmcError("state", "the machine is off: it cannot receive an NMI");
  return power;
}
