import { BmcError } from "../../../contract/bmc-error.ts";
import type { PowerState } from "../../../contract/vocabulary.ts";
import type { PowerCommand, PowerDriver } from "../../operations/power.ts";
import type { RpcConsumer } from "./consumer.ts";

const STATES: Readonly<Record<PowerCommand, string>> = {
  on: "on",
  off: "off",
  "soft-off": "soft",
  cycle: "cycle",
  reset: "reset",
};

/** Power through the consumer's `getPowerState` and `setPowerState`. */
export class RpcPower implements PowerDriver {
  readonly #consumer: RpcConsumer;

  constructor(consumer: RpcConsumer) {
    this.#consumer = consumer;
  }

  async read(signal: AbortSignal): Promise<PowerState> {
    const result = await this.#consumer.ask({ method: "getPowerState" }, signal);
    if (typeof result !== "string") {
      throw new BmcError("protocol", `getPowerState: expected a string as result, got ${describe(result)}`);
    }
    const state = result.trim().toLowerCase();
    return state === "on" || state === "off" ? state : "unknown";
  }

  /** What a consumer offers is not to be known before it is asked for it. */
  async plan(command: PowerCommand): Promise<string> {
    return `setPowerState ${STATES[command]}`;
  }

  async send(command: PowerCommand, signal: AbortSignal): Promise<void> {
    await this.#consumer.tell({ method: "setPowerState", params: { state: STATES[command] } }, signal);
  }
}

function describe(result: unknown): string {
  if (result === undefined || result === null) return "none";
  return Array.isArray(result) ? "a list" : `a value of type ${typeof result}`;
}
