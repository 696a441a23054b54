import type { BmcClient } from "../../../shared/bmc/client.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import { defined } from "../../../shared/defined.ts";
import type { Setting } from "../shared/drift-seen.ts";
import type { Observed, Reading } from "./compare.ts";

/** Reads the settings of the desired state one after the other. Also returns the first error. */
export async function readMachine(
  bmc: BmcClient,
  desired: DesiredState,
  signal: AbortSignal,
): Promise<{ readonly observed: Observed; readonly error?: BmcError | undefined }> {
  let error: BmcError | undefined;
  let isOver = false;
  const read = async <Value>(
    setting: Setting,
    from: (signal: AbortSignal) => Promise<Value>,
    isNeeded = desired[setting] !== undefined,
  ): Promise<Reading<Value> | undefined> => {
    if (!isNeeded || isOver) return undefined;
    try {
      return { value: await from(signal) };
    } catch (thrown) {
      const failure = BmcError.from(thrown);
      if (failure.class === "unsupported") return { unknown: failure.message };
      isOver = !isOfOneSetting(failure);
      error ??= isOver
        ? failure
        : new BmcError(failure.class, `${setting}: ${failure.message}`, { cause: failure });
      return undefined;
    }
  };
  const power = await read("power", (until) => bmc.getPower(until));
  const mayBePoweredOn =
    desired.power === "on" && power !== undefined && "value" in power && power.value !== "on";
  const observed = defined({
    power,
    bootDevice: await read(
      "bootDevice",
      (until) => bmc.getBoot(until),
      desired.bootDevice !== undefined || mayBePoweredOn,
    ),
    ntp: await read("ntp", (until) => bmc.getNtp(until)),
    bios: await read("bios", (until) => bmc.getBios(until)),
    firmware: await read("firmware", (until) => bmc.listFirmware(until)),
  });
  return { observed, error };
}

/**
 * Whether the other settings may still be read after an error. A refused password is not offered again, because BMCs lock
 * accounts.
 */
function isOfOneSetting({ class: errorClass, refused }: BmcError): boolean {
  return ["state", "protocol", "bmc"].includes(errorClass) || refused === "right";
}
