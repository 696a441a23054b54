import { BmcError } from "../../../../contract/bmc-error.ts";
import { type CommandChannel, dataOf, exchange } from "./channel.ts";
import { type Command, ipmiCommand, NetFn } from "./command.ts";
import { COMPLETED, INVALID_FIELD, OUT_OF_RANGE } from "./completion-code.ts";

/** The channel of the request, whatever its number (IPMI 2.0 table 6-1). */
const PRESENT_CHANNEL = 0x0e;
const FIRST_CHANNEL = 0x01;
const LAST_CHANNEL = 0x0b;
/** Media of LAN channels (table 6-3): 802.3 LAN and other LAN. */
const LAN_MEDIA: readonly number[] = [0x04, 0x06];
/** How BMCs refuse an unknown channel number. */
const UNKNOWN_CHANNEL = new Set([INVALID_FIELD, OUT_OF_RANGE]);

/** Get Channel Info (section 22.24). */
function getChannelInfo(channel: number): Command {
  return ipmiCommand("Get Channel Info", NetFn.app, 0x42, { data: Uint8Array.of(channel) });
}

/** The LAN channel that the session uses. */
export class LanChannel {
  readonly #channel: CommandChannel;
  #number: number | undefined;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  /** The channel's number once it is known; until then, the one that means "this channel". */
  get current(): number {
    return this.#number ?? PRESENT_CHANNEL;
  }

  /** Finds the number. Throws `unsupported` if the session's channel is not a LAN. */
  async number(signal: AbortSignal): Promise<number> {
    this.#number ??= await this.#find(signal);
    return this.#number;
  }

  /**
   * Whether a refused command should be sent again with `current`. The BMC may not know "this channel"; `current` then has
   * the number from now on.
   */
  async hasOther(completionCode: number, signal: AbortSignal): Promise<boolean> {
    if (this.#number !== undefined || !UNKNOWN_CHANNEL.has(completionCode)) return false;
    await this.number(signal).catch(() => signal.throwIfAborted());
    return this.#number !== undefined;
  }

  async #find(signal: AbortSignal): Promise<number> {
    const present = await exchange(this.#channel, getChannelInfo(PRESENT_CHANNEL), signal);
    // Some BMCs do not know "this channel". The first LAN channel is then the right one.
    for (let number = FIRST_CHANNEL; UNKNOWN_CHANNEL.has(present.completionCode); number += 1) {
      if (number > LAST_CHANNEL) break;
      const { completionCode, data } = await exchange(this.#channel, getChannelInfo(number), signal);
      if (completionCode === COMPLETED && isLan(data)) return number;
    }
    const data = dataOf(present);
    if (!isLan(data)) throw new BmcError("unsupported", "the session's channel is not a LAN");
    return (data[0] ?? 0) & 0x0f;
  }
}

function isLan(data: Buffer): boolean {
  return LAN_MEDIA.includes((data[1] ?? 0) & 0x7f);
}
