import type { DescMessage } from "@bufbuild/protobuf";
import type { z } from "zod/mini";

/** One value that a schema allows, of which one place is as large as an object of a cluster can be. */
export interface HostileValue {
  /** The place and its shape, such as `providerOptions.rpc.hmac: many entries`. */
  readonly title: string;
  /** Made when it is needed: all of them do not fit into memory. */
  readonly make: () => unknown;
}

const DEEP = 3_000;

type Samples = Readonly<Record<string, unknown>>;

/**
 * Values of a schema of Zod: for each place and each shape that the place allows, a value in which it has about so many characters
 * and everything else is a sample. `samples` has those of fields, by name, whose text has a format. No values are made of schemas that
 * are in `done`, to which all that are used are added: for readers that only parse, one place of a schema is as good as another.
 */
export function hostileValues(
  schema: z.core.$ZodType,
  characters: number,
  samples: Samples = {},
  done?: Set<z.core.$ZodType>,
): readonly HostileValue[] {
  return hostile(schema, { characters, samples, done }, "");
}

interface Making {
  readonly characters: number;
  readonly samples: Samples;
  readonly done: Set<z.core.$ZodType> | undefined;
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
  const { characters, samples, done } = making;
  if (done?.has(schema)) return [];
  done?.add(schema);
  const { type, shape = {}, element, valueType, options } = definitionOf(schema);
  const own = (title: string, make: () => unknown) => ({ title: `${name || "value"}: ${title}`, make });
  const within = (inner: z.core.$ZodType, field: string, around: (value: unknown) => unknown) =>
    hostile(inner, making, name === "" ? field : `${name}.${field}`).map(({ title, make }) => ({
      title,
      make: () => around(make()),
    }));
  switch (type) {
    case "string":
      return [
        own("long text", () => "a".repeat(characters)),
        own("dots", () => `${"a.".repeat(characters / 2)}a`),
      ];
    case "array": {
      if (!element) return [];
      const sample = sampleOf(element, samples, name);
      const count = Math.floor(characters / (JSON.stringify(sample ?? 0).length + 1));
      return [
        own("many entries", () => Array(count).fill(sample)),
        own("many wrong entries", () => Array(characters / 2).fill(1)),
        ...within(element, "0", (value) => [value]),
      ];
    }
    case "record": {
      if (!valueType) return [];
      const sample = sampleOf(valueType, samples, name);
      return [
        own("many entries", () => manyFields(sample, characters)),
        own("a long name", () => ({ ["a".repeat(characters)]: sample })),
        ...within(valueType, "key", (value) => ({ key: value })),
      ];
    }
    case "object": {
      const all = sampleOf(schema, samples, name) as Readonly<Record<string, unknown>>;
      return [
        own("unknown fields", () => ({ ...all, ...manyFields(1, characters) })),
        ...Object.entries(shape).flatMap(([field, inner]) =>
          within(inner, field, (value) => ({ ...all, [field]: value })),
        ),
      ];
    }
    case "union":
      return (options ?? []).flatMap((option) => hostile(option, making, name));
    case "unknown":
      return [
        own("many entries", () => manyFields(1, characters)),
        own("a long list", () => Array(characters / 2).fill(1)),
        own("deep", deep),
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

/**
 * Hostile values for each text field of a protobuf message, also within other messages, each with about this many characters in one
 * place. `sample` is a whole message.
 */
export function hostileMessages(
  descriptor: DescMessage,
  characters: number,
  sample: object,
): readonly HostileValue[] {
  const given = sample as Readonly<Record<string, unknown>>;
  return descriptor.fields.flatMap((field): HostileValue[] => {
    const { localName, fieldKind, oneof } = field;
    const chosen = oneof && (given[oneof.localName] as { case?: string; value?: unknown } | undefined);
    const withValue = (value: unknown) =>
      oneof
        ? { ...sample, [oneof.localName]: { case: localName, value } }
        : { ...sample, [localName]: value };
    const shaped = (shapes: Readonly<Record<string, () => unknown>>) =>
      Object.entries(shapes).map(([title, make]) => ({
        title: `${localName}: ${title}`,
        make: () => withValue(make()),
      }));
    if (fieldKind === "list") {
      const distinct = (one: (index: number) => string) => () =>
        Array.from({ length: characters / 31 }, (_, index) => one(index));
      return shaped({
        "many volumes": distinct((index) => `/data/a/${index}:/data/${index}`),
        "nested volumes": () =>
          Array.from({ length: 1_000 }, (_, index) => `/data:/data/${"a/".repeat(index / 2)}b`),
        "many variables": distinct((index) => `MACHINE_${index}=node-${index}`),
        "many empty texts": () => Array(characters).fill(""),
        "one long text": () => [`A=${"a".repeat(characters)}`],
      });
    }
    const value = chosen?.case === localName ? chosen.value : given[localName];
    if (fieldKind === "message" && typeof value === "object" && value !== null)
      return hostileMessages(field.message, characters, value).map(({ title, make }) => ({
        title: `${localName}.${title}`,
        make: () => withValue(make()),
      }));
    if (fieldKind !== "scalar" || typeof value !== "string") return [];
    return shaped({
      "long text": () => "a".repeat(characters),
      slashes: () => `${"a/".repeat(characters / 2)}a`,
    });
  });
}

/** Texts that make a reader of lines, YAML, markup or terminals work. */
export function hostileTexts(characters: number): readonly HostileValue[] {
  const parts = [
    ...[
      "a",
      "\n",
      " ",
      "\t",
      ":",
      "a: ",
      "- ",
      "-\n",
      "[",
      "{",
      "*a ",
      "&a ",
      "{{",
      "{{ .a }}",
      "}}",
      "%",
      "%25",
    ],
    ...[
      "a: 1\n",
      "- a\n",
      "'",
      '"',
      "\\",
      "<a>",
      "<a",
      "&amp;",
      "\u001b[",
      "\u001b]",
      "\b",
      "a\b",
      "\r",
      "\0",
      "é",
    ],
  ];
  return parts.map((part) => ({
    title: `text of ${JSON.stringify(part)}`,
    make: () => part.repeat(characters / part.length),
  }));
}

/** Bytes that make a reader of records work: each begins with a sample, of which the rest repeats a part. */
export function hostileBytes(bytes: number, samples: readonly Uint8Array[]): readonly HostileValue[] {
  const fills = [[0], [0xff], [0xc1], [0xc0], [0x01], [0x43, 1, 2, 3], [0xdf, ...Array(31).fill(0x41)]];
  return samples.flatMap((sample, index) =>
    [...fills, [...sample]].map((fill) => ({
      title: `sample ${index}, then ${Buffer.from(fill).toString("hex").slice(0, 16)}`,
      make: () =>
        Buffer.concat([sample, Buffer.alloc(Math.max(0, bytes - sample.length), Buffer.from(fill))]),
    })),
  );
}
