import type { SolDriver } from "../../operations/sol.ts";
import { type CommandChannel, dataOf, exchange } from "./channel.ts";
import { COMPLETED, completionError } from "./completion-code.ts";
import { ALREADY_DEACTIVATED, deactivateSol, GET_SOL_STATUS, parseActiveInstances } from "./sol.ts";

/** The instance that a BMC has which cannot say which ones are in use. */
const ONLY_INSTANCE = 1;

/** Serial over LAN as a payload of RMCP+ (IPMI 2.0 section 24). */
export class IpmiSol implements SolDriver {
  readonly #channel: CommandChannel;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  /** A BMC may have the payload and not the command that asks for its state. */
  async offered(signal: AbortSignal): Promise<true | undefined> {
    const { completionCode } = await exchange(this.#channel, GET_SOL_STATUS, signal);
    return completionCode === COMPLETED || undefined;
  }

  async active(signal: AbortSignal): Promise<readonly number[] | undefined> {
    const { command, completionCode, data } = await exchange(this.#channel, GET_SOL_STATUS, signal);
    if (completionCode === COMPLETED) return parseActiveInstances(data);
    const error = completionError(command, completionCode);
    if (error.class === "busy") throw error;
    return undefined;
  }

  async deactivate(signal: AbortSignal, instances?: readonly number[]): Promise<void> {
    for (const instance of instances ?? (await this.active(signal)) ?? [ONLY_INSTANCE]) {
      const answer = await exchange(this.#channel, deactivateSol(instance), signal);
      if (answer.completionCode !== ALREADY_DEACTIVATED) dataOf(answer);
    }
  }
}
