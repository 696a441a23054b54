import type { NmiDriver } from "../provider.ts";
import { type CommandChannel, request } from "./channel.ts";
import { chassisControl } from "./chassis.ts";

/** The diagnostic interrupt through Chassis Control (IPMI 2.0 section 28.3). */
export class IpmiNmi implements NmiDriver {
  readonly #channel: CommandChannel;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  async send(signal: AbortSignal): Promise<void> {
    await request(this.#channel, chassisControl("nmi"), signal);
  }
}
