import { defined } from "../../../shared/defined.ts";
import type { HardwareOfMachines } from "../../core/action/hardware-seen.ts";
import type { Feature, FeatureDefinition, SharedConfig, WorkerParts } from "../feature.ts";
import { type HardwarePart, hardwareSettings } from "./hardware-settings.ts";

type Config = SharedConfig & HardwarePart & { readonly rufio?: { readonly hardware: boolean } };

/** The hardware of machines, for the polls of their agent IDs and for Rufio's Hardware. */
export const hardware = {
  name: "hardware",
  settings: hardwareSettings,
  isUsed: ({ agentAttributes, rufio }) => agentAttributes || rufio?.hardware === true,
  open: openHardware,
} satisfies FeatureDefinition<Config>;

async function openHardware(worker: WorkerParts<Config>): Promise<Feature> {
  const { clock, config, inventory, log, observer, policy, reader } = worker;
  const { isTrusted } = await import("../../policy/trust-rule.ts");
  const { HardwareStore } = await import("./hardware-store.ts");
  const store = new HardwareStore({
    ...{ reader, maxAgeMs: config.hardwareMaxAgeMs, clock, log },
    isTrusted: (image) => isTrusted(policy(), image),
    namespaceOf: (machine) => inventory.origin?.(machine)?.namespace,
    onRead: (errorClass) => observer.hardwareRead(defined({ class: errorClass })),
  });
  const ofMachines: HardwareOfMachines = {
    find: (name) => {
      const machine = inventory.find(name);
      return machine && store.find(machine);
    },
    awaited: (name) => store.awaited(name),
    refresh: (name) => store.refresh(name),
    onRead: (listener) => store.onRead(listener),
  };
  return {
    offers: { hardware: ofMachines },
    observer: store.observer,
    facts: { hardwareKnown: () => store.size },
    run: (stop) => store.run(stop),
  };
}
