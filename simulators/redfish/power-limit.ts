import { z } from "zod";
import type { SimulatedMachine } from "../machine.ts";
import { type Answer, methodNotAllowed, noContent, ok, refusal } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

const RANGE = { AllowableMin: 100, AllowableMax: 1_000 };

const MetricsPatch = z.strictObject({
  PowerLimitWatts: z.strictObject({
    SetPoint: z.number().min(RANGE.AllowableMin).max(RANGE.AllowableMax).optional(),
    ControlMode: z.enum(["Automatic", "Disabled"]),
  }),
});
const ControlPatch = MetricsPatch.shape.PowerLimitWatts;
const PowerPatch = z.strictObject({
  PowerControl: z.tuple([
    z.strictObject({ PowerLimit: z.strictObject({ LimitInWatts: z.number().nullable() }) }),
  ]),
});

const CONTROL = "NodePowerLimit";

/** The power limit of a chassis: EnvironmentMetrics, Power of older BMCs, or a control next to the control of a processor. */
export class SimulatedPowerLimit implements ResourceService {
  readonly #chassis: string;
  readonly #machine: SimulatedMachine;
  readonly #profile: RedfishProfile;
  readonly #sensors: () => object;

  /** `sensors` is what Power contains besides the limit. */
  constructor(chassis: string, machine: SimulatedMachine, profile: RedfishProfile, sensors: () => object) {
    this.#chassis = chassis;
    this.#machine = machine;
    this.#profile = profile;
    this.#sensors = sensors;
  }

  answer({ method, path, body }: ResourceRequest): Answer | undefined {
    const { name } = this.links();
    if (name === "Controls") return this.#controls(method, path, body);
    if (name === undefined || path !== `${this.#chassis}/${name}`) return undefined;
    const isOld = name === "Power";
    if (method === "GET") {
      return ok(
        isOld
          ? resource(path, "Power", { Name: "Power", ...this.#power() })
          : resource(path, "EnvironmentMetrics", { Name: "Environment Metrics", ...this.#metrics() }),
      );
    }
    if (method !== "PATCH") return methodNotAllowed(method);
    const parsed = isOld ? limitOfPower(body) : limitOfMetrics(body);
    return this.#set(parsed);
  }

  #set(limit: { readonly watts: number | undefined } | undefined): Answer {
    if (!limit) return refusal(400, "Base.1.8.PropertyValueOutOfRange", "The limit is out of range.");
    this.#machine.powerLimitWatts = limit.watts;
    return noContent;
  }

  #controls(method: string, path: string, body: unknown): Answer | undefined {
    const controls = `${this.#chassis}/Controls`;
    const ids = ["Processor0PowerLimit", CONTROL];
    const paths = ids.map((id) => `${controls}/${id}`);
    if (path === controls) return ok(collection(controls, "Control", paths));
    if (!paths.includes(path)) return undefined;
    const isWhole = path.endsWith(CONTROL);
    if (method === "PATCH" && isWhole) return this.#set(limitOfControl(body));
    if (method !== "GET") return methodNotAllowed(method);
    const { powerLimitWatts: watts = 0 } = this.#machine;
    const shown = isWhole
      ? { PhysicalContext: "Chassis", SetPoint: watts, ControlMode: watts === 0 ? "Disabled" : "Automatic" }
      : { PhysicalContext: "CPU", SetPoint: 225, ControlMode: "Automatic" };
    const fields = { ControlType: "Power", SetPointUnits: "W", ...RANGE, Sensor: { Reading: 312 }, ...shown };
    return ok(resource(path, "Control", { Name: "Power limit", ...fields }));
  }

  /** Returns the link from the chassis to the limit. */
  links(): { readonly name?: string; readonly link: object } {
    const { powerLimit } = this.#profile;
    if (powerLimit === "none") return { link: {} };
    const name = LINKS[powerLimit];
    return { name, link: { [name]: { "@odata.id": `${this.#chassis}/${name}` } } };
  }

  #metrics() {
    const { powerLimitWatts: watts } = this.#machine;
    const mode =
      watts === undefined ? { ControlMode: "Disabled" } : { ControlMode: "Automatic", SetPoint: watts };
    return { PowerWatts: { Reading: 312 }, PowerLimitWatts: { ...mode, ...RANGE } };
  }

  #power() {
    const LimitInWatts = this.#machine.powerLimitWatts ?? null;
    return {
      ...this.#sensors(),
      PowerControl: [
        {
          "@odata.id": `${this.#chassis}/Power#/PowerControl/0`,
          MemberId: "0",
          Name: "System Power",
          PowerConsumedWatts: 312,
          PowerLimit: { LimitInWatts },
        },
      ],
    };
  }
}

const LINKS = {
  "environment-metrics": "EnvironmentMetrics",
  power: "Power",
  controls: "Controls",
} as const;

function limitOfControl(body: unknown) {
  const { data } = ControlPatch.safeParse(body);
  return data && { watts: data.ControlMode === "Disabled" ? undefined : data.SetPoint };
}

function limitOfMetrics(body: unknown) {
  const { data } = MetricsPatch.safeParse(body);
  if (!data) return undefined;
  const { ControlMode, SetPoint } = data.PowerLimitWatts;
  return { watts: ControlMode === "Disabled" ? undefined : SetPoint };
}

function limitOfPower(body: unknown) {
  const { data } = PowerPatch.safeParse(body);
  return data && { watts: data.PowerControl[0].PowerLimit.LimitInWatts ?? undefined };
}
