import * as z from "zod/mini";
import { defined } from "../../../defined.ts";
import { EXTRA_PARAMETERS } from "./drivers/media-refusal.ts";
import type { ManagedSystem } from "./resources/system.ts";
import { lenient, Path, type System } from "./service/schema.ts";
import type { Resource } from "./service/service.ts";

const Texts = z.array(z.string());

/** What one call learns about a BMC for the next one. A wrong hint causes at most one failed request. */
export const Hint = z.object({
  /** The path of the system, and the selector that found it. */
  system: Path,
  selector: lenient(z.string()),
  /** The identity of the system. If another one has its path, the rest of the hint is invalid. */
  identity: z.catch(z.record(z.string(), z.string()), {}),
  /** Other systems of the BMC, none of which can be reset. */
  others: lenient(z.array(Path)),
  /** The make and model that the hint is valid for. */
  manufacturer: lenient(z.string()),
  model: lenient(z.string()),
  oem: z.catch(Texts, []),
  /** Names of quirks that answers have shown, including the need of If-Match. */
  learned: z.catch(Texts, []),
  /** The target of resets. Without values, the BMC is known to list none. */
  reset: lenient(z.object({ target: Path, values: lenient(Texts) })),
  /** The system's values for its boot override, and its last mode. */
  boot: lenient(
    z.object({
      targets: lenient(Texts),
      enabled: lenient(Texts),
      modes: lenient(Texts),
      mode: lenient(z.string()),
    }),
  ),
  /** The settings resource, and whether it accepts the boot override. */
  settings: lenient(z.object({ path: Path, takesOverride: lenient(z.boolean()) })),
  auth: lenient(z.enum(["basic", "session"])),
  /** False if the BMC refused `Accept-Encoding: identity`. */
  identityEncoding: lenient(z.boolean()),
  /** False if the BMC closes its connections after an answer. */
  keepAlive: lenient(z.boolean()),
  /** The form of `$expand` that the BMC accepts; `none` if it accepts none. */
  expand: lenient(z.enum([".", "*", "none"])),
  manager: lenient(Path),
  /**
   * The virtual drive that was used last, the form of the request that it accepted, and the parameters that the BMC
   * requested.
   */
  media: lenient(
    z.object({
      slot: Path,
      name: lenient(z.string()),
      form: lenient(z.int()),
      extras: lenient(z.array(z.enum(EXTRA_PARAMETERS))),
    }),
  ),
  /** The log service that holds the system event log. */
  sel: lenient(Path),
  /** The collection of accounts. */
  accounts: lenient(Path),
});
export type Hint = z.infer<typeof Hint>;

/** Parses a hint from any source; undefined if it is invalid. */
export function parseHint(value: unknown): Hint | undefined {
  const parsed = Hint.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

/** The system according to a hint. Fields that the hint lacks are absent and read when they are needed. */
export function rememberedSystem(hint: Hint): Resource<System> {
  const { boot, reset, settings } = hint;
  const ownReset = reset && isBelow(reset.target, hint.system) ? reset : undefined;
  const value: System = {
    "@odata.id": hint.system,
    Manufacturer: hint.manufacturer,
    Model: hint.model,
    Oem: Object.fromEntries(hint.oem.map((key) => [key, {}])),
    ...(boot && {
      Boot: {
        BootSourceOverrideMode: boot.mode,
        "BootSourceOverrideTarget@Redfish.AllowableValues": boot.targets,
        "BootSourceOverrideEnabled@Redfish.AllowableValues": boot.enabled,
        "BootSourceOverrideMode@Redfish.AllowableValues": boot.modes,
      },
    }),
    ...(ownReset && {
      Actions: {
        "#ComputerSystem.Reset": {
          target: ownReset.target,
          "ResetType@Redfish.AllowableValues": ownReset.values,
        },
      },
    }),
    ...(settings && { "@Redfish.Settings": { SettingsObject: { "@odata.id": settings.path } } }),
  };
  return { path: hint.system, value, etag: undefined };
}

/** Whether a path belongs to the system of the hint: resetting another system would be a wrong action. */
function isBelow(path: string, system: string): boolean {
  return path.startsWith(`${system.replace(/\/$/, "")}/`) && !path.includes("..") && !path.includes("%2e");
}

/** The part of the system that is kept for the next call. */
export function systemHint(selector: string | undefined, system: ManagedSystem) {
  const { manufacturer, model, oem } = system.identity;
  const boot = system.last.value.Boot;
  return {
    system: system.path,
    ...defined({ selector }),
    identity: system.known,
    manufacturer,
    model,
    oem: [...oem],
    learned: [...system.learned],
    ...(boot && {
      boot: defined({
        targets: boot["BootSourceOverrideTarget@Redfish.AllowableValues"],
        enabled: boot["BootSourceOverrideEnabled@Redfish.AllowableValues"],
        modes: boot["BootSourceOverrideMode@Redfish.AllowableValues"],
        mode: boot.BootSourceOverrideMode,
      }),
    }),
  };
}
