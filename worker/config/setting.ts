import { z } from "zod";
import { defined } from "../../shared/defined.ts";
import { Toggle } from "../document/value-types.ts";

/** How a setting is presented. */
interface SettingMeta {
  /** One sentence without a full stop. */
  readonly description: string;
  /** The form of a value for people, if it is neither an enumeration nor a toggle. The chart's schema follows it, too. */
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
  /** Its place among the Helm chart's values, if not under `config`; `none` if it has no use in the chart's pod. */
  readonly chart?: ChartPlace;
}

type ChartPlace =
  | "none"
  /** The value has the setting's format. */
  | { readonly value: string }
  /** The templates derive the setting from these values. */
  | { readonly derivedFrom: string };

const metaOf = z.registry<SettingMeta>();

/** A setting's schema with its description. */
export function setting<Schema extends z.ZodType>(schema: Schema, meta: SettingMeta): Schema {
  metaOf.add(schema, meta);
  return schema;
}

/** A setting with its names and default. */
export interface Setting extends SettingMeta {
  /** The key of the configuration file and of the parsed settings. */
  readonly name: string;
  readonly group: string;
  /** `true|false` is a flag that needs no value. */
  readonly type: string;
  readonly flag?: string;
  readonly env: string;
  readonly default?: string;
  /** The flag may be repeated. */
  readonly repeatable: boolean;
  /** A path: in the configuration file it is relative to that file. */
  readonly path: boolean;
}

const ENV_PREFIX = "PBNJ_";
const PATH_TYPES = ["file", "folder", "path", "path or URL"];

/** The settings of all groups, in their order. Throws if one has no metadata. */
export function settingsOf(groups: Readonly<Record<string, z.core.$ZodShape>>): readonly Setting[] {
  return Object.entries(groups).flatMap(([group, shape]) =>
    Object.entries(shape).map(([name, field]) => settingOf(group, name, field)),
  );
}

function settingOf(group: string, name: string, field: z.core.$ZodType): Setting {
  const meta = metaOf.get(field);
  const schemas = [...schemasIn(field)];
  const type = meta?.type ?? choicesOf(schemas);
  if (!meta || type === undefined) throw new Error(`the setting ${name} has no metadata`);
  const words = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return {
    ...meta,
    name,
    group,
    type,
    env: `${ENV_PREFIX}${words.replaceAll("-", "_").toUpperCase()}`,
    repeatable: schemas.some((schema) => schema instanceof z.ZodArray),
    path: PATH_TYPES.includes(type),
    ...defined({
      flag: meta.noFlag === undefined ? `--${words}` : undefined,
      default: meta.defaultText ?? defaultOf(field),
    }),
  };
}

function choicesOf(schemas: readonly z.core.$ZodType[]): string | undefined {
  if (schemas.includes(Toggle)) return "true|false";
  return schemas.find((schema) => schema instanceof z.ZodEnum)?.options.join("|");
}

/** The schema and those that it wraps. */
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
function defaultOf(field: z.core.$ZodType): string | undefined {
  if (!(field instanceof z.ZodPrefault)) return undefined;
  return String(field.def.defaultValue) || undefined;
}
