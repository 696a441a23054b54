import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { IndicatorDriver } from "../../../operations/indicator.ts";
import { chassisOf } from "../resources/chassis.ts";
import type { Resources } from "../resources/resources.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { Indicator, lenient } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";

/** Values of `IndicatorLED` for an LED that locates the machine. */
const LIT: readonly string[] = ["Lit", "Blinking"];

const Chassis = z.extend(Indicator, { "@odata.etag": lenient(z.string()) });

/** A resource that switches the LED, with its latest content. */
interface IndicatorPlace {
  readonly isLit: boolean;
  request(lit: boolean): WriteRequest;
}

/**
 * The identify LED of the system, or of its chassis: `LocationIndicatorActive`, or the `IndicatorLED` that it replaces
 * (DSP0268, ComputerSystem 1.13 and Chassis 1.14).
 */
export function redfishIndicator({ system, writer }: Resources): IndicatorDriver {
  const find = async (signal: AbortSignal): Promise<IndicatorPlace> => {
    const own = await system.read(signal);
    const place = placeOf(own);
    if (place) return place;
    for await (const chassis of chassisOf(system, Chassis, signal)) {
      const found = placeOf(chassis);
      if (found) return found;
    }
    throw new BmcError("unsupported", "the BMC offers no identify LED");
  };
  return {
    read: async (signal) => ((await find(signal)).isLit ? "on" : "off"),
    plan: async (lit, signal) => describeWrite((await find(signal)).request(lit)),
    async write(lit, signal) {
      await writer.write((await find(signal)).request(lit), signal);
    },
  };
}

function placeOf({ path, value, etag }: Resource<z.infer<typeof Indicator>>): IndicatorPlace | undefined {
  const { LocationIndicatorActive: active, IndicatorLED: led } = value;
  const patch = (body: object): WriteRequest => ({ method: "PATCH", path, body, etag });
  if (active !== undefined) {
    return { isLit: active, request: (lit) => patch({ LocationIndicatorActive: lit }) };
  }
  if (led === undefined) return undefined;
  const taken = value["IndicatorLED@Redfish.AllowableValues"] ?? LIT;
  const on = LIT.find((name) => taken.includes(name)) ?? "Lit";
  return { isLit: LIT.includes(led), request: (lit) => patch({ IndicatorLED: lit ? on : "Off" }) };
}
