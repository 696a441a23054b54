import type { SimulatedMachine } from "../machine.ts";
import { type Answer, methodNotAllowed, ok, refusal } from "./answer.ts";
import { SimulatedPowerLimit } from "./power-limit.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { isSettingsPatch, patchSettings, showLed } from "./system-settings.ts";

export const CHASSIS_COLLECTION = "/redfish/v1/Chassis";
export const CHASSIS = `${CHASSIS_COLLECTION}/1`;

/** The chassis of the first system. */
export class SimulatedChassis implements ResourceService {
  readonly #machine: SimulatedMachine;
  readonly #profile: RedfishProfile;
  readonly #powerLimit: SimulatedPowerLimit;

  constructor(machine: SimulatedMachine, profile: RedfishProfile) {
    this.#machine = machine;
    this.#profile = profile;
    this.#powerLimit = new SimulatedPowerLimit(CHASSIS, machine, profile);
  }

  answer(request: ResourceRequest): Answer | undefined {
    const { method, path, body } = request;
    if (path === CHASSIS_COLLECTION) {
      return method === "GET" ? ok(collection(path, "Chassis", [CHASSIS])) : methodNotAllowed(method);
    }
    if (path !== CHASSIS) return this.#powerLimit.answer(request);
    const hasLed = this.#profile.indicator === "chassis";
    if (method === "GET") return ok(this.#resource(path, hasLed));
    if (method !== "PATCH") return methodNotAllowed(method);
    return hasLed && isSettingsPatch(body)
      ? patchSettings(body, this.#machine)
      : refusal(400, "Base.1.8.PropertyUnknown", "The property is not in the list of valid properties.");
  }

  #resource(path: string, hasLed: boolean) {
    return {
      "@odata.id": path,
      "@odata.type": "#Chassis.v1_21_0.Chassis",
      Id: "1",
      Name: "Chassis",
      ChassisType: "RackMount",
      ...(hasLed ? showLed(this.#machine) : {}),
      ...this.#powerLimit.links().link,
    };
  }
}
