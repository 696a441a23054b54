import { z } from "zod";
import { defined } from "../../shared/defined.ts";

/** What a setting is besides its schema: where it belongs, what it is called and how it reads to people. */
export interface SettingMeta {
  readonly group: string;
  /** One sentence without its full stop. */
  readonly description: string;
  /** What a value looks like; `true|false` makes a flag that needs no value. */
  readonly type: string;
  /** Environment variables of other Tinkerbell workers that mean the same, the strongest first. */
  readonly aliases?: readonly string[];
  /** The flag may be repeated. */
  readonly repeatable?: boolean;
  /** A path: in the configuration file it is relative to that file. */
  readonly path?: boolean;
  /** Said in place of a default that depends on the installation. */
  readonly defaultText?: string;
  /** Why there is no flag. */
  readonly noFlag?: string;
  /** Why the configuration file may not hold it. */
  readonly noFileKey?: string;
  /** Where the Helm chart's values have it, if not under `config`; `none` if it has no use in the chart's pod. */
  readonly chart?: ChartPlace;
}

export type ChartPlace =
  | "none"
  /** The value is the setting. */
  | { readonly value: string }
  /** The templates make the setting from these values. */
  | { readonly derivedFrom: string };

export const settingMeta = z.registry<SettingMeta>();

/** A setting as it is written down everywhere: names, default and the rest of what is known about it. */
export interface Setting extends SettingMeta {
  /** The key of the configuration file and of the parsed settings. */
  readonly name: string;
  readonly flag?: string;
  readonly env: string;
  readonly default?: string;
}

const ENV_PREFIX = "PBNJ_";

/** The settings of a schema, in its order. Throws when one of them was given no meta data. */
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
      ...(meta.noFlag === undefined ? { flag: `--${words}` } : {}),
      ...defined({ default: fallback }),
    };
  });
}

/** Defaults are kept as they are written, before parsing, so that they read as an operator would write them. */
function defaultOf(field: z.core.$ZodType): string | undefined {
  if (!(field instanceof z.ZodPrefault)) return undefined;
  const text = String(field.def.defaultValue);
  return text === "" ? undefined : text;
}
