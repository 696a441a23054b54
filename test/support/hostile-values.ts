import type { DescMessage } from "@bufbuild/protobuf";
import type { z } from "zod/mini";

/** One value that a schema allows, of which one place is as large as an object of a cluster can be. */
export interface HostileValue {
  /** The place and its shape, such as `providerOptions.rpc.hmac: many entries`. */
  readonly title: string;
  readonly value: unknown;
}

const DEEP = 3_000;

type Samples = Readonly<Record<string, unknown>>;

/**
 * Values of a schema of Zod: for each place and each shape that the place allows, a value in which it has about so many characters
 * and everything else is a sample. `samples` has those of fields, by name, whose text has a format.
 */
export function hostileValues(
  schema: z.core.$ZodType,
  characters: number,
  samples: Samples = {},
): readonly HostileValue[] {
  return hostile(schema, { characters, samples }, "");
}

interface Making {
  readonly characters: number;
  readonly samples: Samples;
}

interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
}

function definitionOf(schema: z.core.$ZodType): Definition {
  const definition = schema._zod.def as unknown as Definition;
  const inner = definition.innerType ?? (definition.type === "pipe" ? definition.in : undefined);
  return inner ? definitionOf(inner) : definition;
}

function hostile(schema: z.core.$ZodType, making: Making, name: string): readonly HostileValue[] {
  const { characters, samples } = making;
  const { type, shape = {}, element, valueType, options } = definitionOf(schema);
  const own = (title: string, value: unknown) => ({ title: `${name || "value"}: ${title}`, value });
  const within = (inner: z.core.$ZodType, field: string, around: (value: unknown) => unknown) =>
    hostile(inner, making, name === "" ? field : `${name}.${field}`).map(({ title, value }) => ({
      title,
      value: around(value),
    }));
  switch (type) {
    case "string":
      return [own("long text", "a".repeat(characters)), own("dots", `${"a.".repeat(characters / 2)}a`)];
    case "array": {
      if (!element) return [];
      const sample = sampleOf(element, samples, name);
      const count = Math.floor(characters / (JSON.stringify(sample ?? 0).length + 1));
      return [own("many entries", Array(count).fill(sample)), ...within(element, "0", (value) => [value])];
    }
    case "record": {
      if (!valueType) return [];
      const sample = sampleOf(valueType, samples, name);
      return [
        own("many entries", manyFields(sample, characters)),
        own("a long name", { ["a".repeat(characters)]: sample }),
        ...within(valueType, "key", (value) => ({ key: value })),
      ];
    }
    case "object": {
      const all = sampleOf(schema, samples, name) as Readonly<Record<string, unknown>>;
      return [
        own("unknown fields", { ...all, ...manyFields(1, characters) }),
        ...Object.entries(shape).flatMap(([field, inner]) =>
          within(inner, field, (value) => ({ ...all, [field]: value })),
        ),
      ];
    }
    case "union":
      return (options ?? []).flatMap((option) => hostile(option, making, name));
    case "unknown":
      return [
        own("many entries", manyFields(1, characters)),
        own("a long list", Array(characters / 2).fill(1)),
        own("deep", deep()),
      ];
    default:
      return [];
  }
}

/** A small value of the schema. */
function sampleOf(schema: z.core.$ZodType, samples: Samples, name: string): unknown {
  const field = name.split(".").at(-1) ?? "";
  if (field in samples) return samples[field];
  const { type, shape = {}, element, valueType, options = [] } = definitionOf(schema);
  const inner = (of: z.core.$ZodType | undefined, key: string) =>
    of && sampleOf(of, samples, `${name}.${key}`);
  switch (type) {
    case "string":
      return "a";
    case "number":
    case "int":
      return 1;
    case "boolean":
      return false;
    case "array":
      return [inner(element, "0")];
    case "record":
      return { key: inner(valueType, "key") };
    case "object":
      return Object.fromEntries(Object.entries(shape).map(([key, of]) => [key, inner(of, key)]));
    case "union":
      return inner(options[0], field);
    default:
      return undefined;
  }
}

function manyFields(value: unknown, characters: number): Readonly<Record<string, unknown>> {
  const count = Math.floor(characters / (JSON.stringify(value ?? 0).length + 12));
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`field-${index}`, value]));
}

function deep(): unknown {
  return JSON.parse(`${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`);
}

/** Hostile values for the text fields and repeated text fields of a protobuf message. `sample` is a whole message. */
export function hostileMessages(
  descriptor: DescMessage,
  characters: number,
  sample: object,
): readonly HostileValue[] {
  return descriptor.fields.flatMap(({ localName, fieldKind }): HostileValue[] => {
    if (fieldKind === "list") {
      const distinct = Array.from({ length: characters / 31 }, (_, index) => index);
      const shapes = {
        "many volumes": distinct.map((index) => `/data/a/${index}:/data/${index}`),
        "nested volumes": Array.from(
          { length: 1_000 },
          (_, index) => `/data:/data/${"a/".repeat(index / 2)}b`,
        ),
        "many variables": distinct.map((index) => `MACHINE_${index}=node-${index}`),
        "many empty texts": Array(characters).fill(""),
        "one long text": [`A=${"a".repeat(characters)}`],
      };
      return Object.entries(shapes).map(([title, value]) => ({
        title: `${localName}: ${title}`,
        value: { ...sample, [localName]: value },
      }));
    }
    if (fieldKind !== "scalar" || typeof (sample as Record<string, unknown>)[localName] !== "string")
      return [];
    const texts = { "long text": "a".repeat(characters), slashes: `${"a/".repeat(characters / 2)}a` };
    return Object.entries(texts).map(([title, value]) => ({
      title: `${localName}: ${title}`,
      value: { ...sample, [localName]: value },
    }));
  });
}
