import type { Clock } from "../../../clock.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { HomeAssistantOptions } from "../../../contract/connection.ts";
import { FirstReading } from "../../http/first-reading.ts";
import type { BootDriver } from "../../operations/boot-port.ts";
import type { PowerCommand, PowerDriver } from "../../operations/power.ts";
import type { HomeAssistantApi, SwitchService } from "./api.ts";

/** Controls a machine's power through its switch. `state` is the entity's latest state. */
export function homeAssistantPower(
  api: HomeAssistantApi,
  { entity, powerOperationDelayMs }: HomeAssistantOptions,
  clock: Clock,
  state: string,
): PowerDriver {
  const first = new FirstReading(state, clock);
  let last = state;
  return {
    async read(signal) {
      const state = first.take() ?? (await api.readState(entity, signal));
      last = state;
      // `unavailable` and `unknown` are neither on nor off.
      return state === "on" || state === "off" ? state : "unknown";
    },
    stateName: () => last,
    plan: async (command) => `switch.${serviceOf(command)} ${entity}`,
    async send(command, signal) {
      const service = serviceOf(command);
      first.drop();
      await api.callSwitch(service, entity, signal);
      if (powerOperationDelayMs > 0) await clock.sleep(powerOperationDelayMs, signal);
    },
  };
}

function serviceOf(command: PowerCommand): SwitchService {
  if (command === "on") return "turn_on";
  if (command === "off") return "turn_off";
  throw new BmcError("unsupported", `a switch can turn a machine on and off, not ${command}`);
}

/**
 * A switch has no boot device. Like in Rufio, a request succeeds without effect, so that workflows for BMCs also run for
 * such machines; the report says so.
 */
export const homeAssistantBoot: BootDriver = {
  ignored: true,
  read: async () => undefined,
  plan: async () => "nothing: a switch in Home Assistant has no boot device",
  write: async () => undefined,
};
