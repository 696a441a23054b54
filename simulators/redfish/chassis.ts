import type { SimulatedMachine } from "../machine.ts";
import { type Answer, methodNotAllowed, ok, refusal } from "./answer.ts";
import { SimulatedPowerLimit } from "./power-limit.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";
import { SimulatedSensors } from "./sensors.ts";
import { isSettingsPatch, patchSettings, showLed } from "./system-settings.ts";

export const CHASSIS_COLLECTION = "/redfish/v1/Chassis";
export const CHASSIS = `${CHASSIS_COLLECTION}/1`;
const ASSEMBLY = `${CHASSIS}/Assembly`;

/** The chassis of the first system. */
export class SimulatedChassis implements ResourceService {
  readonly #machine: SimulatedMachine;
  readonly #profile: RedfishProfile;
  readonly #sensors: SimulatedSensors;
  readonly #powerLimit: SimulatedPowerLimit;
  readonly #systems: readonly string[];

  constructor(machine: SimulatedMachine, profile: RedfishProfile, systems: readonly string[]) {
    this.#systems = systems;
    this.#machine = machine;
    this.#profile = profile;
    this.#sensors = new SimulatedSensors(CHASSIS, machine, profile);
    this.#powerLimit = new SimulatedPowerLimit(CHASSIS, machine, profile, () => this.#sensors.power());
  }

  answer(request: ResourceRequest): Answer | undefined {
    const { method, path, body } = request;
    if (path === CHASSIS_COLLECTION) {
      return method === "GET" ? ok(collection(path, "Chassis", [CHASSIS])) : methodNotAllowed(method);
    }
    if (path === ASSEMBLY) return method === "GET" ? ok(this.#assembly()) : methodNotAllowed(method);
    if (path !== CHASSIS) return this.#sensors.answer(request) ?? this.#powerLimit.answer(request);
    const hasLed = this.#profile.indicator === "chassis";
    if (method === "GET") return ok(this.#resource(path, hasLed));
    if (method !== "PATCH") return methodNotAllowed(method);
    return hasLed && isSettingsPatch(body)
      ? patchSettings(body, this.#machine)
      : refusal(400, "Base.1.8.PropertyUnknown", "The property is not in the list of valid properties.");
  }

  #assembly() {
    const Vendor = this.#profile.manufacturer;
    const Assemblies = [
      { MemberId: "0", Name: "Riser", PhysicalContext: "SystemBay", SerialNumber: "RI00000001" },
      {
        MemberId: "1",
        Name: "Mainboard",
        PhysicalContext: "SystemBoard",
        Vendor,
        Model: "MB-7",
        SerialNumber: "MB00000001",
      },
    ];
    return resource(ASSEMBLY, "Assembly", { Name: "Assembly", Assemblies });
  }

  #resource(path: string, hasLed: boolean) {
    const { manufacturer, model, managerId, sel } = this.#profile;
    const links = (paths: readonly string[]) => paths.map((linked) => ({ "@odata.id": linked }));
    return resource(path, "Chassis", {
      Name: "Chassis",
      ChassisType: "RackMount",
      Manufacturer: manufacturer,
      Model: model,
      SerialNumber: "CH00000001",
      Assembly: { "@odata.id": ASSEMBLY },
      ...(sel.below === "chassis" ? { LogServices: { "@odata.id": `${path}/LogServices` } } : {}),
      Links: {
        ComputerSystems: links(this.#systems),
        ManagedBy: links([`/redfish/v1/Managers/${managerId}`]),
      },
      ...(hasLed ? showLed(this.#machine) : {}),
      ...this.#powerLimit.links().link,
      ...this.#sensors.links(),
    });
  }
}
