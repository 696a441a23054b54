import type { PowerState } from "../../../contract/vocabulary.ts";
import type { PowerCommand, PowerDriver } from "../../operations/power.ts";
import { type CommandChannel, request } from "./channel.ts";
import { chassisControl, describeChassisControl, GET_CHASSIS_STATUS, parseChassisStatus } from "./chassis.ts";

/** Power through Get Chassis Status and Chassis Control (IPMI 2.0 section 28). */
export class IpmiPower implements PowerDriver {
  readonly #channel: CommandChannel;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  async read(signal: AbortSignal): Promise<PowerState> {
    return parseChassisStatus(await request(this.#channel, GET_CHASSIS_STATUS, signal));
  }

  /** IPMI cannot tell what a BMC offers before it is asked for it. */
  async plan(command: PowerCommand): Promise<string> {
    return describeChassisControl(command);
  }

  async send(command: PowerCommand, signal: AbortSignal): Promise<void> {
    await request(this.#channel, chassisControl(command), signal);
  }
}
