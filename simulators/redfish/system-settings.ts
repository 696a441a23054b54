import { z } from "zod";
import type { SimulatedMachine } from "../machine.ts";
import { type Answer, noContent } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";

export const RESTORE_POLICIES = {
  "always-off": "AlwaysOff",
  "always-on": "AlwaysOn",
  "last-state": "LastState",
} as const;
const POLICIES = ["always-off", "always-on", "last-state"] as const;

const Patch = z.union([
  z.strictObject({ LocationIndicatorActive: z.boolean() }),
  z.strictObject({ PowerRestorePolicy: z.enum(["AlwaysOff", "AlwaysOn", "LastState"]) }),
  z.strictObject({ IndicatorLED: z.enum(["Lit", "Blinking", "Off"]) }),
]);

type SettingsPatch = z.infer<typeof Patch>;

/** Shows the identify LED in the System in the form of this profile. */
export function showIndicator(machine: SimulatedMachine, { indicator }: RedfishProfile): object {
  switch (indicator) {
    case "location":
      return { LocationIndicatorActive: machine.indicator !== "off" };
    case "led":
      return showLed(machine);
    default:
      return {};
  }
}

export const isSettingsPatch = (body: unknown): body is SettingsPatch => Patch.safeParse(body).success;

export function patchSettings(patch: SettingsPatch, machine: SimulatedMachine): Answer {
  if ("PowerRestorePolicy" in patch) {
    machine.restorePolicy =
      POLICIES.find((name) => RESTORE_POLICIES[name] === patch.PowerRestorePolicy) ?? "always-off";
    return noContent;
  }
  const lit = "IndicatorLED" in patch ? patch.IndicatorLED !== "Off" : patch.LocationIndicatorActive;
  machine.indicator = lit ? "on" : "off";
  return noContent;
}

export function showLed({ indicator }: SimulatedMachine) {
  return {
    IndicatorLED: indicator === "off" ? "Off" : "Blinking",
    "IndicatorLED@Redfish.AllowableValues": ["Blinking", "Off"],
  };
}
