import type { Clock } from "../../../clock.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { PowerState } from "../../../contract/vocabulary.ts";
import { FirstReading } from "../../http/first-reading.ts";
import type { PowerCommand, PowerDriver } from "../../operations/power.ts";
import { effectOfPower } from "../../operations/write-proof.ts";
import { checkReturnValue, POWER_MEANINGS } from "./fault.ts";
import type { InstanceReference } from "./messages.ts";
import { type PowerStatus, parsePowerStatus, requestFor } from "./power-states.ts";
import type { WsmanClient } from "./wsman.ts";

const ASSOCIATION = "CIM_AssociatedPowerManagementService";
const MANAGED_SYSTEM: InstanceReference = {
  class: "CIM_ComputerSystem",
  keys: { CreationClassName: "CIM_ComputerSystem", Name: "ManagedSystem" },
};

/** How a device's power can be read: with Get, or only by enumerating. */
export type PowerReading = "get" | "enumerate";

/** Reads the power. A device without a single instance is enumerated, from then on immediately. */
export async function readPowerStatus(
  wsman: WsmanClient,
  reading: PowerReading,
  signal: AbortSignal,
): Promise<{ readonly status: PowerStatus; readonly reading: PowerReading }> {
  if (reading === "get") {
    try {
      return { status: parsePowerStatus(await wsman.get(ASSOCIATION, signal)), reading };
    } catch (thrown) {
      if (BmcError.from(thrown).class !== "unsupported") throw thrown;
    }
  }
  const [instance] = await wsman.enumerate(ASSOCIATION, signal);
  if (!instance) throw new BmcError("unsupported", "the device has no power management");
  return { status: parsePowerStatus(instance), reading: "enumerate" };
}

/** Power through CIM_PowerManagementService. The device's state determines what it offers. */
export class AmtPower implements PowerDriver {
  readonly #wsman: WsmanClient;
  readonly #reading: PowerReading;
  readonly #first: FirstReading<PowerStatus>;
  /** The latest reading since the last command. */
  #last: PowerStatus | undefined;
  #label: string | undefined;

  constructor(wsman: WsmanClient, clock: Clock, opened: { status: PowerStatus; reading: PowerReading }) {
    this.#wsman = wsman;
    this.#reading = opened.reading;
    this.#first = new FirstReading(opened.status, clock);
  }

  async read(signal: AbortSignal): Promise<PowerState> {
    return (await this.#read(signal)).state;
  }

  stateName(): string | undefined {
    return this.#label;
  }

  async plan(command: PowerCommand, signal: AbortSignal): Promise<string> {
    const request = requestFor(command, this.#last ?? (await this.#read(signal)));
    return `RequestPowerStateChange ${request} (${command})`;
  }

  async send(command: PowerCommand, signal: AbortSignal): Promise<void> {
    const request = requestFor(command, this.#last ?? (await this.#read(signal)));
    this.#first.drop();
    this.#last = undefined;
    const method = "RequestPowerStateChange";
    const input = { PowerState: request, ManagedElement: MANAGED_SYSTEM };
    const effect = effectOfPower(command);
    const output = await this.#wsman.invoke("CIM_PowerManagementService", method, input, effect, signal);
    checkReturnValue(output, `${method} ${request} (${command})`, POWER_MEANINGS, effect);
  }

  async #read(signal: AbortSignal): Promise<PowerStatus> {
    this.#last = this.#first.take() ?? (await readPowerStatus(this.#wsman, this.#reading, signal)).status;
    this.#label = this.#last.label;
    return this.#last;
  }
}
