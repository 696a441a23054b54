import type { HardwareOfMachines } from "../../core/action/hardware-seen.ts";
import type { FeatureDefinition, FeaturePart, FeatureServices, SharedConfig } from "../feature.ts";
import { type HardwarePart, hardwareSettings } from "./hardware-settings.ts";

type Config = SharedConfig & HardwarePart & { readonly rufio?: { readonly hardware: boolean } };

/** Provides the hardware of machines to the polls of their agent IDs and to Rufio's Hardware. */
export const hardware = {
  name: "hardware",
  settings: hardwareSettings,
  isUsed: ({ agentAttributes, rufio }) => agentAttributes || rufio?.hardware === true,
  open: openHardware,
} satisfies FeatureDefinition<Config>;

async function openHardware(services: FeatureServices<Config>): Promise<readonly FeaturePart[]> {
  const { clock, config, control, log, rules } = services;
  const { inventory, reader } = services.machines;
  const { isTrusted } = await import("../../policy/trust-rule.ts");
  const { HardwareStore } = await import("./hardware-store.ts");
  const store = new HardwareStore({
    reader,
    maxAgeMs: config.hardwareMaxAgeMs,
    clock,
    log,
    isTrusted: (image) => isTrusted(rules.policy(), image),
    namespaceOf: (machine) => inventory.origin?.(machine)?.namespace,
    onRead: (errorClass) => control.observer.hardwareRead({ class: errorClass }),
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
  return [
    { kind: "offers", offers: { hardware: ofMachines } },
    { kind: "observer", observer: store.observer },
    { kind: "facts", worker: { hardwareKnown: () => store.size } },
    { kind: "task", run: (stop) => store.run(stop) },
  ];
}
