import type { Runtime } from "../../core/ports/runtime.ts";
import type { FeatureDefinition, SharedConfig } from "../feature.ts";
import type { HostRuntimeOptions } from "./host-runtime.ts";
import { type Metal3Part, metal3Settings } from "./metal3-settings.ts";

/** The settings that decide whether the feature is used. The source without `access` is the worker's own cluster. */
interface HostUse extends Metal3Part {
  readonly machineSources: readonly { readonly access?: object; readonly inventory: readonly string[] }[];
}

/** Changes the power of hosts that Metal3 manages through their BareMetalHosts. */
export const metal3 = {
  name: "metal3",
  settings: metal3Settings,
  isUsed: usesHosts,
  async open({ config, log, machines, process }) {
    const { stopGraceMs } = config;
    const { inventory } = machines;
    const { own, state } = process;
    const options = { inventory, actions: own.library, state: state.id, log, stopGraceMs };
    return [{ kind: "runtime", wrap: await openHosts(options) }];
  },
} satisfies FeatureDefinition<SharedConfig & HostUse>;

export function usesHosts({ managedHosts, machineSources }: HostUse): boolean {
  const own = machineSources.find(({ access }) => access === undefined);
  return managedHosts === "via-host" && own?.inventory.includes("baremetalhosts") === true;
}

/** Resolves to a function that wraps a runtime, so that actions on BareMetalHosts run inside the worker. */
export async function openHosts(options: HostRuntimeOptions): Promise<(base: Runtime) => Runtime> {
  const { HostRuntime } = await import("./host-runtime.ts");
  return (base) => new HostRuntime(base, options);
}
