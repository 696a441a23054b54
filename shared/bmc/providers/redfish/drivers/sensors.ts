import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { SensorReading, SensorsDriver } from "../../../operations/sensors.ts";
import { chassisOf, MOST_CHASSIS } from "../resources/chassis.ts";
import type { ReadLimits } from "../resources/members.ts";
import type { Resources } from "../resources/resources.ts";
import { Link, lenient } from "../service/schema.ts";
import {
  fromPart,
  fromPower,
  fromSensor,
  fromThermal,
  Part,
  Power,
  Sensor,
  Thermal,
} from "./sensor-resources.ts";

/** The largest BMCs have some 300 sensors, and need a request for each where they do not expand. */
const LIMITS = { members: 512, requests: 600 } as const;

const NO_SENSORS = "the BMC offers no sensors";

const Chassis = z.object({
  Sensors: lenient(Link),
  Thermal: lenient(Link),
  Power: lenient(Link),
  ThermalSubsystem: lenient(Link),
  PowerSubsystem: lenient(Link),
});
type Chassis = z.infer<typeof Chassis>;

const ThermalSubsystem = z.object({ Fans: lenient(Link) });
const PowerSubsystem = z.object({ PowerSupplies: lenient(Link) });

/**
 * The sensors of the system's chassis, else of the first chassis of the service: the collection Sensors if one request
 * reads it whole or the BMC has nothing else; Thermal and Power; else fans and power supplies of the subsystems.
 */
export class RedfishSensors implements SensorsDriver {
  readonly #resources: Resources;

  constructor(resources: Resources) {
    this.#resources = resources;
  }

  async offered(signal: AbortSignal): Promise<true> {
    await this.#resources.system.refresh(signal);
    for await (const { value } of this.#chassis(signal)) {
      if (Object.values(value).some((link) => link !== undefined)) return true;
    }
    throw new BmcError("unsupported", NO_SENSORS);
  }

  async read(signal: AbortSignal): Promise<readonly SensorReading[]> {
    const { system, log } = this.#resources;
    const limits = { members: LIMITS.members, requests: { left: LIMITS.requests } };
    await system.refresh(signal);
    const found: SensorReading[] = [];
    for await (const { value } of this.#chassis(signal))
      found.push(...(await this.#readChassis(value, limits, signal)));
    if (limits.requests.left <= 0) {
      log.warn({ requests: LIMITS.requests }, "sensors truncated: too many resources");
    }
    if (found.length === 0) throw new BmcError("unsupported", NO_SENSORS);
    return found;
  }

  async *#chassis(signal: AbortSignal) {
    const { system, members } = this.#resources;
    if ((system.last.value.Links?.Chassis ?? []).length > 0) {
      yield* chassisOf(system, Chassis, signal);
      return;
    }
    const listed = await members.list("/redfish/v1/Chassis", signal);
    for (const { path } of (listed ?? []).slice(0, MOST_CHASSIS)) {
      const found = await system.service.find(path, Chassis, signal);
      if (found) yield found;
    }
  }

  async #readChassis(
    chassis: Chassis,
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly SensorReading[]> {
    const { members } = this.#resources;
    const hasOlder = chassis.Thermal !== undefined || chassis.Power !== undefined;
    // Without $expand, Sensors cost a request each, and Thermal and Power one for all.
    if (chassis.Sensors && hasOlder && members.expand === undefined) await members.root(signal);
    const isWorth = !hasOlder || members.expand !== "none";
    const sensors = isWorth ? await this.#collect(chassis.Sensors, Sensor, fromSensor, limits, signal) : [];
    if (sensors.length > 0) return sensors;
    const older = [
      ...(await this.#one(chassis.Thermal, Thermal, fromThermal, signal)),
      ...(await this.#one(chassis.Power, Power, fromPower, signal)),
    ];
    return older.length > 0 ? older : await this.#subsystems(chassis, limits, signal);
  }

  async #subsystems(
    chassis: Chassis,
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly SensorReading[]> {
    const [fans] = await this.#one(chassis.ThermalSubsystem, ThermalSubsystem, ({ Fans }) => [Fans], signal);
    const [supplies] = await this.#one(
      chassis.PowerSubsystem,
      PowerSubsystem,
      ({ PowerSupplies }) => [PowerSupplies],
      signal,
    );
    return [
      ...(await this.#collect(fans, Part, (path, part) => fromPart(path, part, "fan"), limits, signal)),
      ...(await this.#collect(supplies, Part, (path, part) => fromPart(path, part, "power"), limits, signal)),
    ];
  }

  async #one<T extends z.ZodMiniType, P>(
    link: z.infer<typeof Link> | undefined,
    schema: T,
    read: (value: z.infer<T>) => readonly P[],
    signal: AbortSignal,
  ): Promise<readonly P[]> {
    const { service } = this.#resources.system;
    const path = service.localPath(link?.["@odata.id"]);
    const found = path && (await this.#tolerant(path, () => service.find(path, schema, signal)));
    return found ? read(found.value) : [];
  }

  async #collect<T extends z.ZodMiniType>(
    link: z.infer<typeof Link> | undefined,
    schema: T,
    read: (path: string, value: z.infer<T>) => SensorReading,
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly SensorReading[]> {
    const { members, system } = this.#resources;
    const path = system.service.localPath(link?.["@odata.id"]);
    const found = path && (await this.#tolerant(path, () => members.read(path, schema, signal, limits)));
    return (found || []).map((resource) => read(resource.path, resource.value));
  }

  /** What one resource has wrong is no reason to report nothing; a BMC that is gone or refuses this user is. */
  async #tolerant<T>(path: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      const { class: errorClass, message } = BmcError.from(error);
      if (!["protocol", "bmc", "unsupported"].includes(errorClass)) throw error;
      this.#resources.log.debug({ path, reason: message }, "sensors skipped");
      return undefined;
    }
  }
}
