import type { BootDriver } from "../../../shared/bmc/operations/boot-port.ts";
import { defineProvider, type Provider } from "../../../shared/bmc/operations/provider.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { HostPower, type HostPowerOptions } from "./host-power.ts";

const refuse = async (): Promise<never> => {
  throw new BmcError("unsupported", "Metal3 decides what the host boots from");
};
const boot: BootDriver = { read: refuse, plan: refuse, write: refuse };

/** A provider that only controls the power of one host, for one action. */
export function hostProvider(options: HostPowerOptions): Provider {
  const power = new HostPower(options);
  return defineProvider({
    name: "metal3",
    capabilities: [],
    open: async () => ({
      provider: "metal3",
      power,
      boot,
      roundTrips: () => power.requests,
      hint: () => ({}),
      close: () => power.close(),
    }),
  });
}
