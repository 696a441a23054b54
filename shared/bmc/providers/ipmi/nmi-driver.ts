import type { NmiDriver } from "../../operations/nmi.ts";
import { type CommandChannel, request } from "./channel.ts";
import { chassisControl, describeChassisControl } from "./chassis.ts";

/** The diagnostic interrupt through Chassis Control (IPMI 2.0 section 28.3). */
export class IpmiNmi implements NmiDriver {
  readonly #channel: CommandChannel;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  /** Chassis Control has no way to ask what it takes. */
  async offered(): Promise<undefined> {
    return undefined;
  }

  async plan(): Promise<string> {
    return describeChassisControl("nmi");
  }

  async send(signal: AbortSignal): Promise<void> {
    await request(this.#channel, chassisControl("nmi"), signal);
  }
}
