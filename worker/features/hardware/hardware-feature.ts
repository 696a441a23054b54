import { defined } from "../../../shared/defined.ts";
import type { HardwareOfMachines } from "../../core/action/hardware-seen.ts";
import { isTrusted } from "../../policy/trust-rule.ts";
import type { Feature, FeatureDefinition, WorkerParts } from "../feature.ts";

/** What machines are built of, for the polls of their agent IDs and for Rufio's Hardware. */
export const hardware: FeatureDefinition = {
  name: "hardware",
  isUsed: ({ agentAttributes, kubernetes }) => agentAttributes || kubernetes?.rufio?.hardware === true,
  open: openHardware,
};

async function openHardware(worker: WorkerParts): Promise<Feature> {
  const { clock, config, inventory, log, observer, policy, reader } = worker;
  const { HardwareStore } = await import("./hardware-store.ts");
  const store = new HardwareStore({
    ...{ reader, maxAgeMs: config.hardwareMaxAgeMs, clock, log },
    isTrusted: (image) => isTrusted(policy(), image),
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
