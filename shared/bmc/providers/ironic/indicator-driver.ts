import * as z from "zod/mini";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { IndicatorDriver, IndicatorState } from "../../operations/indicator.ts";
import { describeRequest, type IronicRequest } from "./api.ts";
import type { IronicNode } from "./node.ts";

const MINOR = 63;

const Indicators = z.object({
  indicators: z.array(
    z.object({
      /** The name with the component, such as `led@system`. */
      name: z.string().check(z.minLength(1)),
      component: z.string(),
      readonly: z.catch(z.optional(z.boolean()), undefined),
    }),
  ),
});
const State = z.object({ state: z.string() });

/** Components whose LED shows which machine it is, in order of preference. */
const COMPONENTS = ["system", "chassis"];

/** Finds the first indicator of the system, or otherwise of its chassis, that can be switched. */
export function ironicIndicator(node: IronicNode): IndicatorDriver {
  const listPath = node.path("/management/indicators");
  let found: string | undefined;

  async function find(signal: AbortSignal): Promise<string> {
    node.api.require(MINOR, "indicators");
    if (found !== undefined) return found;
    const parsed = Indicators.safeParse(await node.api.call({ method: "GET", path: listPath }, signal));
    if (!parsed.success) throw new BmcError("protocol", `GET /v1${listPath} did not return indicators`);
    const usable = parsed.data.indicators.filter(({ readonly }) => !readonly);
    const indicator = COMPONENTS.flatMap((name) => usable.filter(({ component }) => component === name))[0];
    if (!indicator) throw new BmcError("unsupported", "the node has no identify LED");
    found = `${listPath}/${encodeURIComponent(indicator.name)}`;
    return found;
  }

  async function request(lit: boolean, signal: AbortSignal): Promise<IronicRequest> {
    return { method: "PUT", path: await find(signal), body: { state: lit ? "on" : "off" } };
  }

  return {
    async read(signal) {
      const path = await find(signal);
      const parsed = State.safeParse(await node.api.call({ method: "GET", path }, signal));
      if (!parsed.success) throw new BmcError("protocol", `GET /v1${path} did not return a state`);
      return STATES.get(parsed.data.state.toLowerCase());
    },
    async plan(lit, signal) {
      const asked = await request(lit, signal);
      await node.permit(signal);
      return describeRequest(asked);
    },
    async write(lit, signal) {
      const asked = await request(lit, signal);
      await node.permit(signal);
      await node.api.call(asked, signal);
    },
  };
}

/** Other states are unknown to Ironic as well (ironic/common/indicator_states.py). */
const STATES: ReadonlyMap<string, IndicatorState> = new Map([
  ["on", "on"],
  ["blinking", "on"],
  ["off", "off"],
]);
