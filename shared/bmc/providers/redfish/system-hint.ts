import { defined } from "../../../defined.ts";
import type { ManagedSystem } from "./resources/system.ts";

/** What of the system is worth keeping for the next call. */
export function systemHint(selector: string | undefined, system: ManagedSystem) {
  const { manufacturer, model, oem } = system.identity;
  const boot = system.last.value.Boot;
  return {
    system: system.path,
    ...defined({ selector }),
    manufacturer,
    model,
    oem: [...oem],
    learned: [...system.learned],
    ...(boot && {
      boot: present({
        targets: boot["BootSourceOverrideTarget@Redfish.AllowableValues"],
        enabled: boot["BootSourceOverrideEnabled@Redfish.AllowableValues"],
        modes: boot["BootSourceOverrideMode@Redfish.AllowableValues"],
        mode: boot.BootSourceOverrideMode,
      }),
    }),
  };
}

/** The fields that have a value, as a hint is plain JSON. */
export function present<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
