import type { SimulatedMachine } from "../machine.ts";
import type { SimulatedSensor } from "../sensors.ts";
import { type Answer, methodNotAllowed, ok } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

const UNITS = { temperature: "Cel", fan: "RPM", voltage: "V", power: "W" } as const;
const WITH = { Sensors: [], Thermal: ["Power"], ThermalSubsystem: ["PowerSubsystem"] } as const;
const TYPES = { temperature: "Temperature", fan: "Rotational", voltage: "Voltage", power: "Power" } as const;

/** The sensors of a chassis: the collection Sensors, or Thermal and Power of older BMCs. */
export class SimulatedSensors implements ResourceService {
  readonly #chassis: string;
  readonly #machine: SimulatedMachine;
  readonly #profile: RedfishProfile;

  constructor(chassis: string, machine: SimulatedMachine, profile: RedfishProfile) {
    this.#chassis = chassis;
    this.#machine = machine;
    this.#profile = profile;
  }

  /** Returns the chassis' links to the sensors. */
  links(): object {
    const names = this.#profile.sensors.flatMap((name) => [name, ...WITH[name]]);
    return Object.fromEntries(names.map((name) => [name, { "@odata.id": `${this.#chassis}/${name}` }]));
  }

  answer({ method, path }: ResourceRequest): Answer | undefined {
    const found = path.startsWith(`${this.#chassis}/`) ? this.#resource(path) : undefined;
    if (!found) return undefined;
    return method === "GET" ? ok(found) : methodNotAllowed(method);
  }

  /** Returns what Power contains besides the power limit. */
  power(): object {
    const { powerSupplies = 0 } = this.#profile;
    return {
      Voltages: this.#entries("Power", "Voltages", "voltage", "ReadingVolts"),
      ...(powerSupplies > 0 && {
        PowerSupplies: Array.from({ length: powerSupplies }, (_, index) => ({
          "@odata.id": `${this.#chassis}/Power#/PowerSupplies/${index}`,
          MemberId: String(index),
          ...powerSupply(index + 1),
        })),
      }),
    };
  }

  #resource(path: string): object | undefined {
    const [name = "", list, id, ...rest] = path.slice(this.#chassis.length + 1).split("/");
    if (!(name in this.links()) || rest.length > 0) return undefined;
    if (name.endsWith("Subsystem")) return this.#subsystem(path, name, list, id);
    if (name === "Sensors") return id === undefined ? this.#sensor(path, list) : undefined;
    if (list !== undefined) return undefined;
    if (name === "Thermal") return resource(path, "Thermal", { Name: "Thermal", ...this.#thermal() });
    // If Power also has the power limit, that part of the simulator answers.
    if (this.#profile.powerLimit === "power") return undefined;
    const control = this.#entries("Power", "PowerControl", "power", "PowerConsumedWatts");
    return resource(path, "Power", { Name: "Power", ...this.power(), PowerControl: control });
  }

  #sensor(path: string, id: string | undefined): object | undefined {
    const { sensors } = this.#machine;
    if (id === undefined) return listed(path, "Sensor", sensors.length);
    const sensor = sensors[Number(id) - 1];
    return sensor && resource(path, "Sensor", sensorFields(sensor));
  }

  /** Answers for ThermalSubsystem and PowerSubsystem with the collection of their parts. */
  #subsystem(
    path: string,
    name: string,
    list: string | undefined,
    id: string | undefined,
  ): object | undefined {
    const isThermal = name === "ThermalSubsystem";
    const part = isThermal ? "Fans" : "PowerSupplies";
    if (list === undefined) {
      const type = isThermal ? "ThermalSubsystem" : "PowerSubsystem";
      return resource(path, type, { Name: name, [part]: { "@odata.id": `${path}/${part}` } });
    }
    const fans = this.#of("fan");
    if (list !== part) return undefined;
    if (id === undefined) return listed(path, isThermal ? "Fan" : "PowerSupply", isThermal ? fans.length : 2);
    if (!isThermal) {
      return resource(path, "PowerSupply", powerSupply(Number(id)));
    }
    const fan = fans[Number(id) - 1];
    const speed = fan && { Reading: 40, SpeedRPM: readingOf(fan) };
    return fan && resource(path, "Fan", { Name: fan.name, Status: statusOf(fan), SpeedPercent: speed });
  }

  #thermal(): object {
    return {
      Temperatures: this.#entries("Thermal", "Temperatures", "temperature", "ReadingCelsius"),
      Fans: this.#entries("Thermal", "Fans", "fan", "Reading").map((one) => ({
        ...one,
        ReadingUnits: "RPM",
      })),
    };
  }

  /** Makes entries of Thermal and Power, whose readings have a different name in each list. */
  #entries(name: string, list: string, kind: SimulatedSensor["kind"], reading: string) {
    return this.#of(kind).map((sensor, index) => ({
      "@odata.id": `${this.#chassis}/${name}#/${list}/${index}`,
      MemberId: String(index),
      ...shared(sensor),
      [reading]: readingOf(sensor),
    }));
  }

  #of(kind: SimulatedSensor["kind"]): readonly SimulatedSensor[] {
    return this.#machine.sensors.filter((sensor) => sensor.kind === kind);
  }
}

function powerSupply(number: number) {
  return {
    Name: `PSU ${number}`,
    Manufacturer: "Contoso Power",
    Model: "PS-800",
    SerialNumber: `PSU-${number}`,
    FirmwareVersion: "00.2A.2B",
    PowerCapacityWatts: 800,
    Status: { State: "Enabled", Health: "OK" },
  };
}

function listed(path: string, type: string, count: number) {
  return collection(
    path,
    type,
    Array.from({ length: count }, (_, index) => `${path}/${index + 1}`),
  );
}

function sensorFields(sensor: SimulatedSensor) {
  const limit = (Reading: number | undefined) => (Reading === undefined ? undefined : { Reading });
  return {
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
