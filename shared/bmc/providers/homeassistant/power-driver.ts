import type { Clock } from "../../../clock.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { HomeAssistantOptions } from "../../../contract/connection.ts";
import type { PowerState } from "../../../contract/vocabulary.ts";
import { FirstReading } from "../../http/first-reading.ts";
import type { PowerCommand, PowerDriver } from "../../operations/power.ts";
import type { HomeAssistantApi, SwitchService } from "./api.ts";

/** A machine's power through the switch that it is plugged into. */
export class HomeAssistantPower implements PowerDriver {
  readonly #api: HomeAssistantApi;
  readonly #options: HomeAssistantOptions;
  readonly #clock: Clock;
  readonly #first: FirstReading<string>;

  /** `state` is the entity's, read just now. */
  constructor(api: HomeAssistantApi, options: HomeAssistantOptions, clock: Clock, state: string) {
    this.#api = api;
    this.#options = options;
    this.#clock = clock;
    this.#first = new FirstReading(state, clock);
  }

  async read(signal: AbortSignal): Promise<PowerState> {
    const state = this.#first.take() ?? (await this.#api.readState(this.#options.entity, signal));
    // `unavailable` and `unknown` say that nobody knows.
    return state === "on" || state === "off" ? state : "unknown";
  }

  async plan(command: PowerCommand): Promise<string> {
    return `switch.${serviceOf(command)} ${this.#options.entity}`;
  }

  async send(command: PowerCommand, signal: AbortSignal): Promise<void> {
    const { entity, powerOperationDelayMs } = this.#options;
    const service = serviceOf(command);
    this.#first.drop();
    await this.#api.callSwitch(service, entity, signal);
    if (powerOperationDelayMs > 0) await this.#clock.sleep(powerOperationDelayMs, signal);
  }
}

function serviceOf(command: PowerCommand): SwitchService {
  if (command === "on") return "turn_on";
  if (command === "off") return "turn_off";
  throw new BmcError("unsupported", `a switch can turn a machine on and off, not ${command}`);
}
