import { z } from "zod";
import type { BootDevice } from "../../shared/contract/vocabulary.ts";
import type { SimulatedMachine, SimulatedOverride } from "../machine.ts";
import { type Answer, noContent, refusal } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";

export const BOOT_TARGETS: Readonly<Record<string, BootDevice>> = {
  None: "none",
  Pxe: "pxe",
  Hdd: "disk",
  BiosSetup: "bios",
  Cd: "cdrom",
  UsbCd: "cdrom",
  Diags: "diag",
  Floppy: "floppy",
  Usb: "usb",
  UefiHttp: "uefi-http",
  RemoteDrive: "remote-drive",
  SDCard: "sd-card",
  Utilities: "utilities",
};
const ENABLED = { Disabled: "disabled", Once: "once", Continuous: "continuous" } as const;
const MODES = { UEFI: "uefi", Legacy: "legacy" } as const;

const BootPatch = z.strictObject({
  Boot: z.strictObject({
    BootSourceOverrideTarget: z.string().optional(),
    BootSourceOverrideEnabled: z.enum(["Disabled", "Once", "Continuous"]).optional(),
    BootSourceOverrideMode: z.enum(["UEFI", "Legacy"]).optional(),
    // sushy clears this in an override other than HTTP boot.
    HttpBootUri: z.string().nullable().optional(),
  }),
});
type BootPatch = z.infer<typeof BootPatch>["Boot"];

/** Shows a machine's `Boot` in the form of this profile. */
export function showBoot(machine: SimulatedMachine, profile: RedfishProfile): Record<string, unknown> {
  const { device, enabled, mode } = machine.override;
  const target = profile.bootTargets.find((candidate) => BOOT_TARGETS[candidate] === device) ?? "None";
  const withMode = profile.bootModes.length > 0;
  return {
    BootSourceOverrideTarget: target,
    BootSourceOverrideEnabled: keyOf(ENABLED, enabled),
    ...(withMode ? { BootSourceOverrideMode: keyOf(MODES, mode) } : {}),
    ...(profile.bootListing
      ? {
          "BootSourceOverrideTarget@Redfish.AllowableValues": profile.bootTargets,
          "BootSourceOverrideEnabled@Redfish.AllowableValues": profile.bootEnabled,
          ...(withMode ? { "BootSourceOverrideMode@Redfish.AllowableValues": profile.bootModes } : {}),
        }
      : {}),
  };
}

/** Applies a PATCH of `Boot` in the way of this profile. `queueJob` is called for each BIOS job that it causes. */
export function patchBoot(
  body: unknown,
  machine: SimulatedMachine,
  profile: RedfishProfile,
  queueJob: () => void,
): Answer {
  const parsed = BootPatch.safeParse(body);
  if (!parsed.success) return unknown(parsed.error.issues[0]?.path.join("/") ?? "");
  const patch = parsed.data.Boot;
  if (patch.HttpBootUri !== undefined && !profile.httpBootUri) return unknown("HttpBootUri");
  const refused = refuse(patch, profile);
  if (refused) return refused;
  const before = machine.override;
  machine.override = after(patch, before, profile);
  if (patch.HttpBootUri !== undefined) machine.httpBootUri = patch.HttpBootUri ?? "";
  if (
    profile.modeRule === "unchanged-queues-job" &&
    patch.BootSourceOverrideMode === keyOf(MODES, before.mode)
  )
    queueJob();
  if (profile.refusesButApplies !== undefined) {
    return refusal(
      400,
      profile.refusesButApplies,
      "Unable to complete the operation because of an internal error.",
    );
  }
  return noContent;
}

function refuse(patch: BootPatch, profile: RedfishProfile): Answer | undefined {
  const target = patch.BootSourceOverrideTarget;
  const enabled = patch.BootSourceOverrideEnabled;
  const mode = patch.BootSourceOverrideMode;
  if (target !== undefined && !profile.bootTargets.includes(target)) return notInList(target, "Target");
  if (target === "None" && profile.refusesNone) return notInList(target, "Target");
  if (enabled !== undefined && !profile.bootEnabled.includes(enabled)) return notInList(enabled, "Enabled");
  if (mode !== undefined && !profile.bootModes.includes(mode)) return notInList(mode, "Mode");
  if (mode !== undefined && profile.modeRule === "read-only") {
    return refusal(
      400,
      "Base.1.8.PropertyNotWritable",
      "The property BootSourceOverrideMode is a read only property.",
    );
  }
  if (profile.allThree && (target === undefined || enabled === undefined || mode === undefined)) {
    return refusal(
      400,
      "Base.1.8.PropertyMissing",
      "The property BootSourceOverrideMode must be part of the request.",
    );
  }
  return undefined;
}

function after(patch: BootPatch, before: SimulatedOverride, profile: RedfishProfile): SimulatedOverride {
  const mode = patch.BootSourceOverrideMode ? MODES[patch.BootSourceOverrideMode] : before.mode;
  const forgets = profile.modeRule === "must-be-sent" && patch.BootSourceOverrideMode === undefined;
  if (profile.reverts || forgets) return { device: "none", enabled: "disabled", mode: "legacy" };
  const target = patch.BootSourceOverrideTarget;
  const enabled = patch.BootSourceOverrideEnabled;
  return {
    device: target === undefined ? before.device : (BOOT_TARGETS[target] ?? "none"),
    enabled: enabled === undefined ? before.enabled : kept(ENABLED[enabled], profile),
    mode,
  };
}

function kept(enabled: SimulatedOverride["enabled"], { keepsOnce }: RedfishProfile) {
  return keepsOnce && enabled === "once" ? "continuous" : enabled;
}

const unknown = (property: string) =>
  refusal(
    400,
    "Base.1.8.PropertyUnknown",
    `The property ${property} is not in the list of valid properties.`,
  );

function notInList(value: string, property: string): Answer {
  const message = `The value ${value} for the property BootSourceOverride${property} is not in the list of acceptable values.`;
  return refusal(400, "Base.1.8.PropertyValueNotInList", message);
}

function keyOf<V extends string>(table: Readonly<Record<string, V>>, value: V): string {
  return Object.entries(table).find(([, entry]) => entry === value)?.[0] ?? value;
}
