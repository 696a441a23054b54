import { z } from "zod";
import { defined } from "../../shared/defined.ts";
import { Toggle } from "../document/value-types.ts";

/** The commands that load settings; `serve` is `start` without a tink server. */
export type ConfigCommand = "start" | "serve" | "run";

/** Texts about a setting for the documentation and the help. */
interface SettingMeta {
  /** One sentence without a full stop. */
  readonly description: string;
  /** The format of a value, if it is neither an enumeration nor a toggle. The chart's schema uses it as well. */
  readonly type?: string;
  /** Variables of other Tinkerbell workers with the same meaning, highest precedence first. */
  readonly aliases?: readonly string[];
  /** Shown instead of a default that depends on the installation. */
  readonly defaultText?: string;
  /** Why there is no flag. */
  readonly noFlag?: string;
  /** Why it is not allowed in the configuration file. */
  readonly noFileKey?: string;
  /** Keys of a list's objects whose values are paths: in the configuration file they are relative to that file. */
  readonly pathKeys?: readonly string[];
  /**
   * The setting's place in the Helm chart's values, if it is not under `config`; `none` if it has no use in the chart's pod.
   */
  readonly chart?: ChartPlace;
  /** Commands that do not use the setting, in addition to those of its part. */
  readonly not?: readonly ConfigCommand[];
  /** Set if `pbnj-worker policy test` accepts the setting too, because it decides whether and how actions run. */
  readonly policyTest?: true;
}

type ChartPlace =
  | "none"
  /** The value has the setting's format. */
  | { readonly value: string }
  /** The templates derive the setting from these values. */
  | { readonly derivedFrom: string };

/** A setting as the folder that uses it defines it. */
export interface SettingDefinition<Schema extends z.ZodType = z.ZodType> extends SettingMeta {
  readonly schema: Schema;
}

/** Setting definitions by their name, which is also their key in the configuration file. */
export type Definitions = Readonly<Record<string, SettingDefinition>>;

/** The values of settings. Durations are milliseconds, sizes bytes. */
export type SettingsOf<Defined extends Definitions> = {
  readonly [Name in keyof Defined]: z.output<Defined[Name]["schema"]>;
};

/** Schemas that list their own values. */
type Choice = z.ZodPrefault<
  typeof Toggle | z.ZodEnum<Readonly<Record<string, string>>> | z.ZodPreprocess<z.ZodEnum>
>;

export function setting<Schema extends Choice>(schema: Schema, meta: SettingMeta): SettingDefinition<Schema>;
export function setting<Schema extends z.ZodType>(
  schema: Schema,
  meta: SettingMeta & { readonly type: string },
): SettingDefinition<Schema>;
export function setting<Schema extends z.ZodType>(
  schema: Schema,
  meta: SettingMeta,
): SettingDefinition<Schema> {
  return { schema, ...meta };
}

/** A setting with its names and default. */
export interface Setting extends SettingDefinition {
  readonly name: string;
  readonly group: string;
  /** The format of a value. `true|false` is a flag that needs no value. */
  readonly type: string;
  readonly flag?: string;
  readonly env: string;
  readonly default?: string;
  /** The flag may be repeated. */
  readonly repeatable: boolean;
  /** The value is a path. In the configuration file it is relative to that file. */
  readonly path: boolean;
  readonly not: readonly ConfigCommand[];
}

const ENV_PREFIX = "PBNJ_";
const PATH_TYPES = ["file", "folder", "path", "path or URL"];

/** Splits a setting's name into the words of its flag. */
function flagWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function variableOf(name: string): string {
  return `${ENV_PREFIX}${flagWords(name).replaceAll("-", "_").toUpperCase()}`;
}

export function settingOf(
  name: string,
  definition: SettingDefinition,
  part: { readonly group: string; readonly not?: readonly ConfigCommand[] },
): Setting {
  const { schema, type, not = [] } = definition;
  const schemas = [...schemasIn(schema)];
  const shown = type ?? choicesOf(schemas);
  return {
    ...definition,
    name,
    group: part.group,
    type: shown,
    env: variableOf(name),
    repeatable: schemas.some((found) => found instanceof z.ZodArray),
    path: PATH_TYPES.includes(shown),
    not: [...(part.not ?? []), ...not],
    ...defined({
      flag: definition.noFlag === undefined ? `--${flagWords(name)}` : undefined,
      default: definition.defaultText ?? defaultOf(schema),
    }),
  };
}

function choicesOf(schemas: readonly z.core.$ZodType[]): string {
  if (schemas.includes(Toggle)) return "true|false";
  return schemas.find((schema) => schema instanceof z.ZodEnum)?.options.join("|") ?? "text";
}

/** Yields the schema and the schemas that it wraps. */
function* schemasIn(schema: z.core.$ZodType): Generator<z.core.$ZodType> {
  yield schema;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) {
    yield* schemasIn(schema.def.innerType);
  } else if (schema instanceof z.ZodArray) yield* schemasIn(schema.def.element);
  else if (schema instanceof z.ZodPipe) {
    yield* schemasIn(schema.def.in);
    yield* schemasIn(schema.def.out);
  }
}

/** Defaults are stored unparsed, so that they read as an operator would write them. */
function defaultOf(schema: z.core.$ZodType): string | undefined {
  if (!(schema instanceof z.ZodPrefault)) return undefined;
  return String(schema.def.defaultValue) || undefined;
}
