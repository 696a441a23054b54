import * as z from "zod/mini";
import { defined } from "../../../defined.ts";
import { EXTRA_PARAMETERS } from "./drivers/media-refusal.ts";
import type { ManagedSystem } from "./resources/system.ts";
import { lenient, Path, type System } from "./service/schema.ts";
import type { Resource } from "./service/service.ts";

const Texts = z.array(z.string());

/** What one call learns about a BMC for the next. Nothing here is trusted beyond one failed request. */
export const Hint = z.object({
  /** Path of the system, and the selector it was found with. */
  system: Path,
  selector: lenient(z.string()),
  /** What identifies the system: another one at its path makes the rest void. */
  identity: z.catch(z.record(z.string(), z.string()), {}),
  /** Systems that the BMC lists beside it, none of which can be reset. */
  others: lenient(z.array(Path)),
  /** What was learned holds for this make and model only. */
  manufacturer: lenient(z.string()),
  model: lenient(z.string()),
  oem: z.catch(Texts, []),
  /** Names of quirks that answers have shown, If-Match needs among them. */
  learned: z.catch(Texts, []),
  /** Where resets go. Without values the BMC is known to list none anywhere. */
  reset: lenient(z.object({ target: Path, values: lenient(Texts) })),
  /** What the system lists for its boot override, and the mode it had last. */
  boot: lenient(
    z.object({
      targets: lenient(Texts),
      enabled: lenient(Texts),
      modes: lenient(Texts),
      mode: lenient(z.string()),
    }),
  ),
  /** The resource `@Redfish.Settings` names, and whether it takes the boot override. */
  settings: lenient(z.object({ path: Path, takesOverride: lenient(z.boolean()) })),
  auth: lenient(z.enum(["basic", "session"])),
  /** False when the BMC refused `Accept-Encoding: identity`. */
  identityEncoding: lenient(z.boolean()),
  /** False when the BMC closes its connections after an answer. */
  keepAlive: lenient(z.boolean()),
  /** The `$expand` the BMC takes, `none` where it takes none. */
  expand: lenient(z.enum([".", "*", "none"])),
  manager: lenient(Path),
  /** The virtual drive used last, and the form of the request it took, with what the BMC asked for. */
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

/** Reads a hint from anywhere; undefined when it is none. */
export function parseHint(value: unknown): Hint | undefined {
  const parsed = Hint.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

/** The system as a hint remembers it. What the hint does not say is absent, and read when it is needed. */
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

/** What a hint says about a system must be about that one: a reset of another would be a wrong action. */
function isBelow(path: string, system: string): boolean {
  return path.startsWith(`${system.replace(/\/$/, "")}/`) && !path.includes("..") && !path.includes("%2e");
}

/** What of the system is worth keeping for the next call. */
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
