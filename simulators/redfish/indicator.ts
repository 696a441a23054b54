import { z } from "zod";
import type { SimulatedMachine } from "../machine.ts";
import { type Answer, methodNotAllowed, noContent, ok, refusal } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";
import type { ResourceRequest, ResourceService } from "./resource-service.ts";

const CHASSIS = "/redfish/v1/Chassis/1";

const Patch = z.union([
  z.strictObject({ LocationIndicatorActive: z.boolean() }),
  z.strictObject({ IndicatorLED: z.enum(["Lit", "Blinking", "Off"]) }),
]);

type IndicatorPatch = z.infer<typeof Patch>;

/** The identify LED as this make shows it in the System. */
export function showIndicator(machine: SimulatedMachine, { indicator }: RedfishProfile): object {
  switch (indicator) {
    case undefined:
      return { LocationIndicatorActive: machine.indicator !== "off" };
    case "led":
      return showLed(machine);
    default:
      return {};
  }
}

/** Its System's links to where the LED is. */
export const chassisLinks = ({ indicator }: RedfishProfile) =>
  indicator === "chassis" ? { Chassis: [{ "@odata.id": CHASSIS }] } : {};

export const isIndicatorPatch = (body: unknown): body is IndicatorPatch => Patch.safeParse(body).success;

export function patchIndicator(patch: IndicatorPatch, machine: SimulatedMachine): Answer {
  const lit = "IndicatorLED" in patch ? patch.IndicatorLED !== "Off" : patch.LocationIndicatorActive;
  machine.indicator = lit ? "on" : "off";
  return noContent;
}

/** The chassis of makes that have the LED there. */
export class IndicatorChassis implements ResourceService {
  readonly #machine: SimulatedMachine;
  readonly #profile: RedfishProfile;

  constructor(machine: SimulatedMachine, profile: RedfishProfile) {
    this.#machine = machine;
    this.#profile = profile;
  }

  answer({ method, path, body }: ResourceRequest): Answer | undefined {
    if (path !== CHASSIS || this.#profile.indicator !== "chassis") return undefined;
    if (method === "GET") return ok({ "@odata.id": path, Id: "1", ...showLed(this.#machine) });
    if (method !== "PATCH") return methodNotAllowed(method);
    return isIndicatorPatch(body)
      ? patchIndicator(body, this.#machine)
      : refusal(400, "Base.1.8.PropertyUnknown", "The property is not in the list of valid properties.");
  }
}

function showLed({ indicator }: SimulatedMachine) {
  return {
    IndicatorLED: indicator === "off" ? "Off" : "Blinking",
    "IndicatorLED@Redfish.AllowableValues": ["Blinking", "Off"],
  };
}
