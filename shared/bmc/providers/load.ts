import type { ProviderName } from "../../contract/vocabulary.ts";
import type { Provider } from "../operations/provider.ts";

/** Loads a provider when it is first used, because everything loaded at start delays the action. */
export type ProviderLoader = (name: ProviderName) => Promise<Provider>;

const LOADERS: Readonly<Record<ProviderName, () => Promise<Provider>>> = {
  redfish: async () => (await import("./redfish/redfish-provider.ts")).redfish,
  ipmi: async () => (await import("./ipmi/ipmi-provider.ts")).ipmi,
  ipmitool: async () => (await import("./ipmitool/ipmitool-provider.ts")).ipmitool,
  amt: async () => (await import("./amt/amt-provider.ts")).amt,
  rpc: async () => (await import("./rpc/rpc-provider.ts")).rpc,
  homeassistant: async () => (await import("./homeassistant/homeassistant-provider.ts")).homeAssistant,
  ironic: async () => (await import("./ironic/ironic-provider.ts")).ironic,
};

export const loadProvider: ProviderLoader = (name) => LOADERS[name]();
