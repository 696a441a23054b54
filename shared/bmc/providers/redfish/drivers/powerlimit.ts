import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { PowerLimit, PowerLimitDriver } from "../../../operations/powerlimit.ts";
import type { Unread } from "../../../operations/unread.ts";
import { chassisOf } from "../resources/chassis.ts";
import type { Resources } from "../resources/resources.ts";
import { throwUnread } from "../resources/unreadable.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { Link, lenient } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";

const Watts = lenient(z.number().check(z.nonnegative()));

const Chassis = z.object({
  EnvironmentMetrics: lenient(Link),
  Power: lenient(Link),
  Controls: lenient(Link),
});

/** EnvironmentMetrics (DSP0268, since 1.0 of 2020), which replaces Power. */
const EnvironmentMetrics = z.object({
  "@odata.etag": lenient(z.string()),
  PowerWatts: lenient(z.object({ Reading: Watts })),
  PowerLimitWatts: lenient(
    z.object({
      SetPoint: lenient(z.nullable(z.number().check(z.nonnegative()))),
      ControlMode: lenient(z.string()),
      AllowableMin: Watts,
      AllowableMax: Watts,
    }),
  ),
});

/** Power (DSP0268, deprecated): the first entry is the whole chassis. */
const Power = z.object({
  "@odata.etag": lenient(z.string()),
  PowerControl: lenient(
    z.array(
      z.object({
        PowerConsumedWatts: Watts,
        PowerLimit: lenient(z.object({ LimitInWatts: lenient(z.nullable(z.number())) })),
      }),
    ),
  ),
});

/** Control (DSP0268, since 1.0 of 2021): one limit or target of a chassis. */
const Control = z.object({
  "@odata.etag": lenient(z.string()),
  Id: lenient(z.string()),
  ControlType: lenient(z.string()),
  PhysicalContext: lenient(z.string()),
  SetPoint: lenient(z.nullable(z.number().check(z.nonnegative()))),
  SetPointUnits: lenient(z.string()),
  ControlMode: lenient(z.string()),
  AllowableMin: Watts,
  AllowableMax: Watts,
  SettingMin: Watts,
  SettingMax: Watts,
  Sensor: lenient(z.object({ Reading: Watts })),
});
const MOST_CONTROLS = 64;

/** The resource with the limit, with its latest content. */
interface LimitPlace {
  readonly limit: PowerLimit;
  request(watts: number | undefined): WriteRequest;
}

/** The power limit of the system's chassis. */
export function redfishPowerLimit({ system, members, writer }: Resources): PowerLimitDriver {
  const { service } = system;
  const find = async (signal: AbortSignal): Promise<LimitPlace> => {
    await system.refresh(signal);
    for await (const { value } of chassisOf(system, Chassis, signal)) {
      const metricsPath = service.localPath(value.EnvironmentMetrics?.["@odata.id"]);
      const metrics = metricsPath && (await service.find(metricsPath, EnvironmentMetrics, signal));
      const place = metrics && inMetrics(metrics.path, metrics.etag, metrics.value);
      if (place) return place;
      const powerPath = service.localPath(value.Power?.["@odata.id"]);
      const power = powerPath && (await service.find(powerPath, Power, signal));
      const older = power && inPower(power.path, power.etag, power.value);
      if (older) return older;
      const controlsPath = service.localPath(value.Controls?.["@odata.id"]);
      const gaps: Unread[] = [];
      const unread = (gap: Unread) => gaps.push(gap);
      const limits = { members: MOST_CONTROLS, requests: { left: MOST_CONTROLS + 2 }, unread };
      const controls = controlsPath && (await members.read(controlsPath, Control, signal, limits));
      const control = controls && inControls(controls);
      if (control) return control;
      throwUnread(gaps, "the power limit");
    }
    throw new BmcError("unsupported", "the BMC offers no power limit");
  };
  return {
    read: async (signal) => (await find(signal)).limit,
    plan: async (watts, signal) => describeWrite((await find(signal)).request(watts)),
    async write(watts, signal) {
      await writer.write((await find(signal)).request(watts), signal);
    },
  };
}

function inMetrics(
  path: string,
  etag: string | undefined,
  { PowerWatts, PowerLimitWatts: limit }: z.infer<typeof EnvironmentMetrics>,
): LimitPlace | undefined {
  // Some BMCs have only a reading there.
  if (!limit) return undefined;
  const { SetPoint: set, ControlMode: mode, AllowableMax: most } = limit;
  if (set === undefined && mode === undefined && most === undefined) return undefined;
  const isOff = limit.ControlMode === "Disabled";
  return {
    limit: defined({
      watts: isOff ? undefined : (limit.SetPoint ?? undefined),
      consumedWatts: PowerWatts?.Reading,
      minWatts: limit.AllowableMin,
      maxWatts: limit.AllowableMax,
    }),
    request(watts) {
      const set = watts === undefined ? {} : { SetPoint: watts };
      // Services without modes accept the value alone.
      const mode = limit.ControlMode === undefined ? {} : { ControlMode: watts ? "Automatic" : "Disabled" };
      return { method: "PATCH", path, body: { PowerLimitWatts: { ...set, ...mode } }, etag };
    },
  };
}

function inPower(
  path: string,
  etag: string | undefined,
  { PowerControl }: z.infer<typeof Power>,
): LimitPlace | undefined {
  const [whole, ...rest] = PowerControl ?? [];
  // OpenBMC has the reaction to an exceeded limit without a limit. Null means that the limit is not set.
  if (whole?.PowerLimit?.LimitInWatts === undefined) return undefined;
  return {
    limit: defined({
      watts: whole.PowerLimit.LimitInWatts ?? undefined,
      consumedWatts: whole.PowerConsumedWatts,
    }),
    request(watts) {
      // In a PATCH, an empty object leaves an entry of an array unchanged (DSP0266 section 7.11.3).
      const entries = [{ PowerLimit: { LimitInWatts: watts ?? null } }, ...rest.map(() => ({}))];
      return { method: "PATCH", path, body: { PowerControl: entries }, etag };
    },
  };
}

/** The control of the whole chassis, not that of its processors and accelerators. */
function inControls(controls: readonly Resource<z.infer<typeof Control>>[]): LimitPlace | undefined {
  const [found, ...others] = controls.filter(
    ({ value: { ControlType: type, PhysicalContext: context, SetPointUnits: units = "W" } }) =>
      type === "Power" && context === "Chassis" && /^w(att)?s?$/i.test(units),
  );
  if (!found) return undefined;
  if (others.length > 0) {
    const names = [found, ...others].map(({ path, value }) => value.Id ?? path).join(", ");
    throw new BmcError("unsupported", `the BMC has several power limits of the chassis: ${names}`);
  }
  const { path, etag, value: control } = found;
  const isOff = control.ControlMode === "Disabled";
  return {
    limit: defined({
      watts: isOff ? undefined : (control.SetPoint ?? undefined),
      consumedWatts: control.Sensor?.Reading,
      minWatts: control.SettingMin ?? control.AllowableMin,
      maxWatts: control.SettingMax ?? control.AllowableMax,
    }),
    request(watts) {
      const set = watts === undefined ? {} : { SetPoint: watts };
      const mode = control.ControlMode === undefined ? {} : { ControlMode: watts ? "Automatic" : "Disabled" };
      return { method: "PATCH", path, body: { ...set, ...mode }, etag };
    },
  };
}
