import type { ExecutionConfig } from "../../config/worker-config.ts";
import type { Runtime } from "../../core/runtime/runtime.ts";
import type { FeatureDefinition } from "../feature.ts";
import type { HostRuntimeOptions } from "./host-runtime.ts";

/** Changes the power of hosts that Metal3 manages through their BareMetalHosts. */
export const metal3: FeatureDefinition = {
  name: "metal3",
  isUsed: usesHosts,
  async open({ config, inventory, log, own, state }) {
    const { stopGraceMs } = config;
    const options = { inventory, actions: own.library, state: state.id, log, stopGraceMs };
    return { runtime: await openHosts(options) };
  },
};

export function usesHosts({ kubernetes }: Pick<ExecutionConfig, "kubernetes">): boolean {
  return kubernetes?.managedHosts === "via-host" && kubernetes.inventory.includes("baremetalhosts");
}

/** Resolves to what runs actions of BareMetalHosts inside the worker, and all others with another runtime. */
export async function openHosts(options: HostRuntimeOptions): Promise<(base: Runtime) => Runtime> {
  const { HostRuntime } = await import("./host-runtime.ts");
  return (base) => new HostRuntime(base, options);
}
