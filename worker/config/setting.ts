import { z } from "zod";
import { defined } from "../../shared/defined.ts";

/** How a setting is presented. */
export interface SettingMeta {
  readonly group: string;
  /** One sentence without a full stop. */
  readonly description: string;
  /** The form of a value for people; `true|false` is a flag that needs no value. The chart's schema follows it, too. */
  readonly type: string;
  /** Variables of other Tinkerbell workers with the same meaning, highest precedence first. */
  readonly aliases?: readonly string[];
  /** The flag may be repeated. */
  readonly repeatable?: boolean;
  /** A path: in the configuration file it is relative to that file. */
  readonly path?: boolean;
  /** Shown instead of a default that depends on the installation. */
  readonly defaultText?: string;
  /** Why there is no flag. */
  readonly noFlag?: string;
  /** Why it is not allowed in the configuration file. */
  readonly noFileKey?: string;
  /** Its place among the Helm chart's values, if not under `config`; `none` if it has no use in the chart's pod. */
  readonly chart?: ChartPlace;
}

type ChartPlace =
  | "none"
  /** The value has the setting's format. */
  | { readonly value: string }
  /** The templates derive the setting from these values. */
  | { readonly derivedFrom: string };

export const settingMeta = z.registry<SettingMeta>();

/** A setting with its names and default. */
export interface Setting extends SettingMeta {
  /** The key of the configuration file and of the parsed settings. */
  readonly name: string;
  readonly flag?: string;
  readonly env: string;
  readonly default?: string;
}

const ENV_PREFIX = "PBNJ_";

/** The settings of a schema, in its order. Throws if one has no metadata. */
export function settingsOf(schema: z.ZodObject): readonly Setting[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const meta = settingMeta.get(field);
    if (!meta) throw new Error(`the setting ${name} has no meta data`);
    const words = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const fallback = meta.defaultText ?? defaultOf(field);
    return {
      ...meta,
      name,
      env: `${ENV_PREFIX}${words.replaceAll("-", "_").toUpperCase()}`,
      ...defined({ flag: meta.noFlag === undefined ? `--${words}` : undefined, default: fallback }),
    };
  });
}

/** Defaults are stored unparsed, so that they read as an operator would write them. */
function defaultOf(field: z.core.$ZodType): string | undefined {
  if (!(field instanceof z.ZodPrefault)) return undefined;
  const text = String(field.def.defaultValue);
  return text === "" ? undefined : text;
}
