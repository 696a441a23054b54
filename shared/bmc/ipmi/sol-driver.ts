import type { SolDriver } from "../provider.ts";
import { type CommandChannel, dataOf, exchange } from "./channel.ts";
import { COMPLETED } from "./completion-code.ts";
import { ALREADY_DEACTIVATED, deactivateSol, GET_SOL_STATUS, parseActiveInstances } from "./sol.ts";

/** The instance that a BMC has which cannot say which ones are in use. */
const ONLY_INSTANCE = 1;

/** Serial over LAN as a payload of RMCP+ (IPMI 2.0 section 24). */
export class IpmiSol implements SolDriver {
  readonly #channel: CommandChannel;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  async deactivate(signal: AbortSignal): Promise<void> {
    for (const instance of await this.#activeInstances(signal)) {
      const answer = await exchange(this.#channel, deactivateSol(instance), signal);
      if (answer.completionCode !== ALREADY_DEACTIVATED) dataOf(answer);
    }
  }

  async #activeInstances(signal: AbortSignal): Promise<readonly number[]> {
    const status = await exchange(this.#channel, GET_SOL_STATUS, signal);
    return status.completionCode === COMPLETED ? parseActiveInstances(status.data) : [ONLY_INSTANCE];
  }
}
