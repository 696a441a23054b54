import { BmcError } from "../../../../contract/bmc-error.ts";
import type { BootMode } from "../../../../contract/vocabulary.ts";
import { defined } from "../../../../defined.ts";
import type { BootOverride, BootRequest } from "../../../operations/boot-port.ts";
import type { Behaviour } from "../service/behaviour-quirks.ts";
import type { Boot } from "../service/schema.ts";
import { deviceOf, targetFor } from "./boot-devices.ts";

/** The content of `Boot` in a boot write. */
export interface BootFields {
  readonly BootSourceOverrideTarget?: string;
  readonly BootSourceOverrideEnabled?: string;
  readonly BootSourceOverrideMode?: string;
}

const MODES: Readonly<Record<BootMode, string>> = { uefi: "UEFI", legacy: "Legacy" };

/** The fields for a request, considering what the BMC reports and lists. Throws `unsupported` for what it lacks. */
export function bootFields(request: BootRequest, boot: Boot, behaviour: Behaviour): BootFields {
  const mode = modeField(request, boot, behaviour);
  const fields =
    request.device === "none" ? clearingFields(boot, behaviour) : overrideFields(request, boot, behaviour);
  return mode === undefined ? fields : { ...fields, BootSourceOverrideMode: mode };
}

/** Whether a resource contains the override itself. Other properties of `Boot`, such as `BootOrder`, do not show that. */
export function hasOverride(boot: Boot | undefined): boot is Boot {
  return (
    boot?.BootSourceOverrideTarget !== undefined ||
    boot?.BootSourceOverrideEnabled !== undefined ||
    boot?.["BootSourceOverrideTarget@Redfish.AllowableValues"] !== undefined ||
    boot?.["BootSourceOverrideEnabled@Redfish.AllowableValues"] !== undefined
  );
}

/** The fields that a refusal requires, as requested or with the BMC's present values. */
export function missingFields(names: readonly string[], boot: Boot, request: BootRequest): BootFields {
  const asked = request.mode === "keep" ? undefined : MODES[request.mode];
  const present = {
    BootSourceOverrideMode: asked ?? boot.BootSourceOverrideMode,
    BootSourceOverrideTarget: boot.BootSourceOverrideTarget ?? "None",
    BootSourceOverrideEnabled: "Disabled",
  };
  return defined(Object.fromEntries(Object.entries(present).filter(([name]) => names.includes(name))));
}

/** The forms that remove an override, the usual ones first; only those that the BMC lists, if it lists any. */
export function clearingForms(boot: Boot): readonly BootFields[] {
  const targets = boot["BootSourceOverrideTarget@Redfish.AllowableValues"];
  const enabled = boot["BootSourceOverrideEnabled@Redfish.AllowableValues"];
  const disabled = { BootSourceOverrideEnabled: "Disabled" };
  const forms: readonly BootFields[] = [
    { BootSourceOverrideTarget: "None", ...disabled },
    { BootSourceOverrideTarget: "None" },
    disabled,
    { BootSourceOverrideTarget: "Pxe", ...disabled },
  ];
  return forms.filter(
    (form) =>
      (form.BootSourceOverrideTarget === undefined ||
        targets?.includes(form.BootSourceOverrideTarget) !== false) &&
      (form.BootSourceOverrideEnabled === undefined || enabled?.includes("Disabled") !== false),
  );
}

/** A boot override as reported; fields that are not reported are absent. */
export function bootOverride(boot: Boot): BootOverride {
  const target = boot.BootSourceOverrideTarget;
  const enabled = boot.BootSourceOverrideEnabled;
  const mode = reportedMode(boot.BootSourceOverrideMode);
  const device = enabled === "Disabled" ? "none" : target === undefined ? "unknown" : deviceOf(target);
  const repeats = enabled === "Once" || enabled === "Continuous";
  return {
    device,
    ...defined({
      persistent: device !== "none" && repeats ? enabled === "Continuous" : undefined,
      mode,
    }),
  };
}

/** Whether the reported fields equal the requested ones. */
export function holds(request: BootRequest, reported: BootOverride): boolean {
  if (reported.device !== request.device) return false;
  const repeats =
    request.device === "none" || (reported.persistent ?? request.persistent) === request.persistent;
  return repeats && (request.mode === "keep" || (reported.mode ?? request.mode) === request.mode);
}

function overrideFields(request: BootRequest, boot: Boot, behaviour: Behaviour): BootFields {
  const listed = boot["BootSourceOverrideTarget@Redfish.AllowableValues"];
  const target = targetFor(request.device, listed, behaviour.cdTargets);
  if (target === undefined) {
    throw new BmcError("unsupported", `the BMC does not boot from ${request.device}${only(listed)}`);
  }
  return {
    BootSourceOverrideTarget: target,
    BootSourceOverrideEnabled: enabledField(request, boot),
  };
}

function enabledField(request: BootRequest, boot: Boot): string {
  const listed = boot["BootSourceOverrideEnabled@Redfish.AllowableValues"];
  const enabled = request.persistent ? "Continuous" : "Once";
  if (listed && !listed.includes(enabled)) {
    const how = request.persistent ? "permanent" : "one-time";
    throw new BmcError("unsupported", `the BMC takes no ${how} boot override${only(listed)}`);
  }
  return enabled;
}

function clearingFields(boot: Boot, behaviour: Behaviour): BootFields {
  const targets = boot["BootSourceOverrideTarget@Redfish.AllowableValues"];
  const enabled = boot["BootSourceOverrideEnabled@Redfish.AllowableValues"];
  const target = !targets || targets.includes(behaviour.clearTarget) ? behaviour.clearTarget : undefined;
  const disabled = !enabled || enabled.includes("Disabled");
  if (target !== "None" && !disabled) {
    throw new BmcError("unsupported", `the BMC does not take a boot override back${only(enabled)}`);
  }
  return {
    ...defined({ BootSourceOverrideTarget: target }),
    ...(disabled ? { BootSourceOverrideEnabled: "Disabled" } : {}),
  };
}

function modeField(request: BootRequest, boot: Boot, { sendMode }: Behaviour): string | undefined {
  const current = boot.BootSourceOverrideMode;
  const listed = boot["BootSourceOverrideMode@Redfish.AllowableValues"];
  const asked = request.mode === "keep" ? undefined : MODES[request.mode];
  if (asked !== undefined && listed && !listed.includes(asked)) {
    throw new BmcError("unsupported", `the BMC does not boot in mode ${request.mode}${only(listed)}`);
  }
  const advertised = current !== undefined || listed !== undefined;
  const differs = asked !== undefined && asked !== current;
  switch (sendMode) {
    case "always":
      return advertised ? (asked ?? current) : undefined;
    case "when-different":
      return advertised && differs ? asked : undefined;
    case "never":
      if (differs && current !== undefined) {
        throw new BmcError(
          "unsupported",
          `the boot mode is ${current} and this BMC does not let it be changed`,
        );
      }
      return undefined;
    default:
      return sendMode satisfies never;
  }
}

function reportedMode(text: string | undefined): BootMode | undefined {
  if (text === "UEFI") return "uefi";
  if (text === "Legacy") return "legacy";
  return undefined;
}

function only(listed: readonly string[] | undefined): string {
  return listed ? `, only ${listed.join(", ")}` : "";
}
