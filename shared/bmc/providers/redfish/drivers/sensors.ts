import type * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { SensorReading, SensorsDriver } from "../../../operations/sensors.ts";
import { throwIfNoneRead, type Unread } from "../../../operations/unread.ts";
import { allChassis, type Chassis, ChassisResource, chassisOf } from "../resources/chassis.ts";
import { maySend, type ReadLimits } from "../resources/members.ts";
import type { Resources } from "../resources/resources.ts";
import { readable, throwUnread } from "../resources/unreadable.ts";
import type { Link } from "../service/schema.ts";
import { mergeReadings, nameByChassis } from "./merge-readings.ts";
import {
  fromPart,
  fromPower,
  fromSensor,
  fromThermal,
  Part,
  Power,
  PowerSubsystem,
  Sensor,
  Thermal,
  ThermalSubsystem,
} from "./sensor-resources.ts";

/** The largest BMCs have about 300 sensors, and need a request for each if they do not support `$expand`. */
const LIMITS = { members: 512, requests: 600 } as const;

const NO_SENSORS = "the BMC offers no sensors";
const SOURCES = ["Sensors", "Thermal", "Power", "ThermalSubsystem", "PowerSubsystem"] as const;

/**
 * The sensors of all chassis of the machine: the collection Sensors, and Thermal and Power, merged by name. If a chassis has
 * none of these, the fans and power supplies of its subsystems. A sensor that cannot be read has a reading that says so.
 */
export class RedfishSensors implements SensorsDriver {
  readonly #resources: Resources;

  constructor(resources: Resources) {
    this.#resources = resources;
  }

  async offered(signal: AbortSignal): Promise<true> {
    const { system } = this.#resources;
    await system.refresh(signal);
    // Usually the system links to a chassis with sensors, which costs one request.
    for await (const { value } of chassisOf(system, ChassisResource, signal)) {
      if (hasSensors(value)) return true;
    }
    const gaps: Unread[] = [];
    const unread = (gap: Unread) => gaps.push(gap);
    const limits = { members: LIMITS.members, requests: { left: LIMITS.requests }, unread };
    const found = await allChassis(this.#resources, limits, signal);
    if (found.some(({ value }) => hasSensors(value))) return true;
    throwUnread(gaps, "whether the BMC has sensors");
    throw new BmcError("unsupported", NO_SENSORS);
  }

  async read(signal: AbortSignal): Promise<readonly SensorReading[]> {
    const gaps = new Map<string, Unread>();
    const limits: ReadLimits = {
      members: LIMITS.members,
      requests: { left: LIMITS.requests },
      unread: (gap) => gaps.set(gap.name, gap),
    };
    const found: { readonly chassis: string; readonly readings: readonly SensorReading[] }[] = [];
    for (const chassis of await allChassis(this.#resources, limits, signal)) {
      found.push({ chassis: chassis.name, readings: await this.#readChassis(chassis, limits, signal) });
    }
    if (limits.requests.left <= 0) {
      this.#resources.log.warn({ requests: LIMITS.requests }, "sensors truncated: too many resources");
    }
    const readings = nameByChassis(found);
    throwIfNoneRead(readings.length, [...gaps.values()], "sensor");
    if (readings.length === 0) throw new BmcError("unsupported", NO_SENSORS);
    return [...readings, ...[...gaps.values()].map(notRead)];
  }

  async #readChassis(
    { value: chassis }: Chassis,
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly SensorReading[]> {
    const older = [
      ...(await this.#one(chassis.Thermal, Thermal, fromThermal, limits, signal)),
      ...(await this.#one(chassis.Power, Power, fromPower, limits, signal)),
    ];
    const sensors = await this.#sensors(chassis, older.length, limits, signal);
    if (sensors.length > 0 || older.length > 0) return mergeReadings(sensors, older);
    return await this.#subsystems(chassis, limits, signal);
  }

  /**
   * Reads the collection of sensors. Without `$expand` each costs a request, which is only worth it if there are more of
   * them than were already read.
   */
  async #sensors(
    { Sensors: link }: Chassis["value"],
    alreadyRead: number,
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly SensorReading[]> {
    const { members, system } = this.#resources;
    const path = system.service.localPath(link?.["@odata.id"]);
    if (path === undefined) return [];
    if (alreadyRead > 0) {
      if (members.expand === undefined) await members.root(signal);
      if (members.expand === "none") {
        const listed = await readable({ name: path, ...limits }, () => members.list(path, signal, limits));
        const links = listed?.filter(({ body }) => body === undefined) ?? [];
        if (links.length <= alreadyRead && links.length > 0) return [];
      }
    }
    return await this.#collect(link, Sensor, fromSensor, limits, signal);
  }

  async #subsystems(
    chassis: Chassis["value"],
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly SensorReading[]> {
    const { ThermalSubsystem: thermal, PowerSubsystem: power } = chassis;
    const [fans] = await this.#one(thermal, ThermalSubsystem, ({ Fans }) => [Fans], limits, signal);
    const supplies = await this.#one(
      power,
      PowerSubsystem,
      ({ PowerSupplies }) => [PowerSupplies],
      limits,
      signal,
    );
    const part = (kind: "fan" | "power") => (path: string, value: z.infer<typeof Part>) =>
      fromPart(path, value, kind);
    return [
      ...(await this.#collect(fans, Part, part("fan"), limits, signal)),
      ...(await this.#collect(supplies[0], Part, part("power"), limits, signal)),
    ];
  }

  async #one<T extends z.ZodMiniType, P>(
    link: z.infer<typeof Link> | undefined,
    schema: T,
    read: (value: z.infer<T>) => readonly P[],
    limits: ReadLimits,
    signal: AbortSignal,
  ): Promise<readonly P[]> {
    const { service } = this.#resources.system;
    const path = service.localPath(link?.["@odata.id"]);
    if (path === undefined || !maySend(path, limits)) return [];
    const found = await readable({ name: path, ...limits }, () => service.find(path, schema, signal));
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
    if (path === undefined) return [];
    const found = await readable({ name: path, ...limits }, () => members.read(path, schema, signal, limits));
    return (found ?? []).map((resource) => read(resource.path, resource.value));
  }
}

function hasSensors(chassis: Chassis["value"]): boolean {
  return SOURCES.some((source) => chassis[source] !== undefined);
}

function notRead({ name, reason }: Unread): SensorReading {
  return { name, kind: "other", health: "unknown", state: "not read", reason };
}
