import type { SimulatedMachine } from "../machine.ts";
import type { SimulatedSensor } from "../sensors.ts";
import { type Answer, methodNotAllowed, ok } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";

const UNITS = { temperature: "Cel", fan: "RPM", voltage: "V", power: "W" } as const;
const TYPES = { temperature: "Temperature", fan: "Rotational", voltage: "Voltage", power: "Power" } as const;

/** The sensors below a chassis: the collection Sensors, or Thermal and Power of older makes. */
export class SimulatedSensors implements ResourceService {
  readonly #chassis: string;
  readonly #machine: SimulatedMachine;
  readonly #profile: RedfishProfile;

  constructor(chassis: string, machine: SimulatedMachine, profile: RedfishProfile) {
    this.#chassis = chassis;
    this.#machine = machine;
    this.#profile = profile;
  }

  /** The links of the chassis to them. */
  links(): object {
    const link = (name: string) => ({ [name]: { "@odata.id": `${this.#chassis}/${name}` } });
    const { sensors = "both" } = this.#profile;
    return {
      ...(sensors === "sensors" || sensors === "both" ? link("Sensors") : {}),
      ...(sensors === "subsystems" ? { ...link("ThermalSubsystem"), ...link("PowerSubsystem") } : {}),
      ...(sensors === "thermal" || sensors === "both" ? { ...link("Thermal"), ...link("Power") } : {}),
    };
  }

  answer({ method, path }: ResourceRequest): Answer | undefined {
    const resource = path.startsWith(`${this.#chassis}/`) ? this.#resource(path) : undefined;
    if (!resource) return undefined;
    return method === "GET" ? ok({ "@odata.id": path, ...resource }) : methodNotAllowed(method);
  }

  /** What Power has beside the power limit. */
  power(): object {
    return { Voltages: this.#of("voltage").map((one) => ({ ...shared(one), ReadingVolts: readingOf(one) })) };
  }

  #resource(path: string): object | undefined {
    const [name, id, ...rest] = path.slice(this.#chassis.length + 1).split("/");
    if (name === undefined || !(name in this.links())) return undefined;
    if (name.endsWith("Subsystem")) return this.#subsystem(path, name, id, rest[0]);
    if (rest.length > 0) return undefined;
    if (name === "Thermal" && id === undefined) return this.#thermal();
    // Where Power also has the power limit, that part answers.
    if (name === "Power" && id === undefined && this.#profile.powerLimit !== "power") {
      const control = this.#of("power").map((one) => ({
        ...shared(one),
        PowerConsumedWatts: readingOf(one),
      }));
      return { ...this.power(), PowerControl: control };
    }
    if (name !== "Sensors") return undefined;
    const { sensors } = this.#machine;
    if (id === undefined)
      return collection(
        path,
        "Sensor",
        sensors.map((_, index) => `${path}/${index + 1}`),
      );
    const sensor = sensors[Number(id) - 1];
    return sensor && sensorResource(sensor, id);
  }

  /** ThermalSubsystem and PowerSubsystem with the collection of their parts. */
  #subsystem(
    path: string,
    name: string,
    list: string | undefined,
    id: string | undefined,
  ): object | undefined {
    const [part, type] = name === "ThermalSubsystem" ? ["Fans", "Fan"] : ["PowerSupplies", "PowerSupply"];
    if (list === undefined) return { [part]: { "@odata.id": `${path}/${part}` } };
    const parts = type === "Fan" ? this.#of("fan") : [{ name: "PSU 1" }, { name: "PSU 2" }];
    if (list !== part) return undefined;
    if (id === undefined)
      return collection(
        path,
        type,
        parts.map((_, index) => `${path}/${index + 1}`),
      );
    const found = parts[Number(id) - 1];
    if (!found) return undefined;
    const speed = "kind" in found ? { SpeedPercent: { Reading: 40, SpeedRPM: readingOf(found) } } : {};
    const status = "kind" in found ? statusOf(found) : { State: "Enabled", Health: "OK" };
    return { Id: id, Name: found.name, Status: status, ...speed };
  }

  #thermal(): object {
    return {
      Temperatures: this.#of("temperature").map((one) => ({
        ...shared(one),
        ReadingCelsius: readingOf(one),
      })),
      Fans: this.#of("fan").map((one) => ({ ...shared(one), Reading: readingOf(one), ReadingUnits: "RPM" })),
    };
  }

  #of(kind: SimulatedSensor["kind"]): readonly SimulatedSensor[] {
    return this.#machine.sensors.filter((sensor) => sensor.kind === kind);
  }
}

function sensorResource(sensor: SimulatedSensor, id: string) {
  const limit = (Reading: number | undefined) => (Reading === undefined ? undefined : { Reading });
  return {
    "@odata.type": "#Sensor.v1_7_0.Sensor",
    Id: id,
    Name: sensor.name,
    ReadingType: TYPES[sensor.kind],
    Reading: readingOf(sensor),
    ReadingUnits: UNITS[sensor.kind],
    Status: statusOf(sensor),
    Thresholds: {
      LowerCritical: limit(sensor.lowerCritical),
      LowerCaution: limit(sensor.lowerWarning),
      UpperCaution: limit(sensor.upperWarning),
      UpperCritical: limit(sensor.upperCritical),
    },
  };
}

function shared(sensor: SimulatedSensor) {
  return {
    Name: sensor.name,
    LowerThresholdCritical: sensor.lowerCritical,
    LowerThresholdNonCritical: sensor.lowerWarning,
    UpperThresholdNonCritical: sensor.upperWarning,
    UpperThresholdCritical: sensor.upperCritical,
    Status: statusOf(sensor),
  };
}

function readingOf({ state, value }: SimulatedSensor): number | null {
  return state === undefined ? value : null;
}

function statusOf({ state, value, lowerCritical = -Infinity, upperCritical = Infinity }: SimulatedSensor) {
  if (state !== undefined) return { State: state === "absent" ? "Absent" : "Disabled" };
  return { State: "Enabled", Health: value <= lowerCritical || value >= upperCritical ? "Critical" : "OK" };
}
