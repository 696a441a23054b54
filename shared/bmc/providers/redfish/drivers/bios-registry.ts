import * as z from "zod/mini";
import { defined } from "../../../../defined.ts";
import {
  BIOS_PROPERTIES,
  type BiosDependency,
  type BiosRegistry,
  type BiosRegistryAttribute,
  type BiosValue,
} from "../../../operations/bios-registry.ts";
import type { Unread } from "../../../operations/unread.ts";
import type { Members } from "../resources/members.ts";
import { throwUnread } from "../resources/unreadable.ts";
import { lastPart } from "../service/paths.ts";
import { lenient } from "../service/schema.ts";
import type { Service } from "../service/service.ts";

/** The largest registries, of HPE and Lenovo, have 1 to 2 MB. */
const MAX_REGISTRY_BYTES = 8 * 1_048_576;
const MOST_ENTRIES = 20_000;
const MOST_CONDITIONS = 64;
const MOST_REGISTRIES = 500;

const Value = z.union([z.string(), z.number(), z.boolean()]);
const Text = lenient(z.string());

/** Entries of a list with elements of any type. */
const entries = <T extends z.ZodMiniType>(schema: T) =>
  z.catch(
    z.pipe(
      z.array(z.unknown()).check(z.maxLength(MOST_ENTRIES)),
      z.transform((list: unknown[]): z.infer<T>[] =>
        list.flatMap((entry) => {
          const parsed = schema.safeParse(entry);
          return parsed.success ? [parsed.data] : [];
        }),
      ),
    ),
    [],
  );

const NamedValue = z.object({ ValueName: z.string(), ValueDisplayName: Text });

/** Some registries contain only the displayed name (openstack/ironic). */
const ShownValue = z.pipe(
  z.object({ ValueDisplayName: z.string() }),
  z.transform(({ ValueDisplayName }) => ({ ValueName: ValueDisplayName, ValueDisplayName })),
);

const Attribute = z.looseObject({
  AttributeName: z.string(),
  Type: Text,
  Value: lenient(entries(z.union([NamedValue, ShownValue]))),
});

const Condition = z.object({
  MapFromAttribute: z.string(),
  MapFromProperty: z.string(),
  MapFromCondition: z.string(),
  MapFromValue: z.unknown(),
  MapTerms: Text,
});

const Dependency = z.object({
  Dependency: z.object({
    // An unreadable condition makes the whole dependency unknown.
    MapFrom: z.array(Condition).check(z.minLength(1), z.maxLength(MOST_CONDITIONS)),
    MapToAttribute: z.string(),
    MapToProperty: z.enum(BIOS_PROPERTIES),
    MapToValue: Value,
  }),
});

/** The used fields of an AttributeRegistry (DSP0268). */
const AttributeRegistry = z.object({
  RegistryEntries: z.object({ Attributes: entries(Attribute), Dependencies: entries(Dependency) }),
});

/** MessageRegistryFile (DSP0268): the location of the registry, by language. */
const RegistryFile = z.object({
  Location: z.array(z.object({ Language: Text, Uri: Text })),
});

/**
 * Finds the registry with this name, or the only one of BIOS attributes if the Bios resource names none. Undefined if the
 * BMC offers none that can be read, or only one on another host.
 */
export async function findBiosRegistry(
  { service, members }: { readonly service: Service; readonly members: Members },
  name: string | undefined,
  signal: AbortSignal,
): Promise<BiosRegistry | undefined> {
  const root = await members.root(signal);
  const collection = service.localPath(root.value.Registries?.["@odata.id"]);
  if (collection === undefined) return undefined;
  const gaps: Unread[] = [];
  const unread = (gap: Unread) => gaps.push(gap);
  const limits = { members: MOST_REGISTRIES, requests: { left: MOST_REGISTRIES }, unread };
  const listed = (await members.list(collection, signal, limits)) ?? [];
  const filePath = fileNamed(
    listed.map(({ path }) => path),
    name ?? "BiosAttributeRegistry",
  );
  if (filePath === undefined) throwUnread(gaps, "the registry of BIOS attributes");
  const file = filePath === undefined ? undefined : await service.find(filePath, RegistryFile, signal);
  const locations = file?.value.Location ?? [];
  const location = locations.find(({ Language }) => /^en\b/i.test(Language ?? "")) ?? locations[0];
  const path = service.localPath(location?.Uri);
  const found =
    path === undefined ? undefined : await service.find(path, z.unknown(), signal, MAX_REGISTRY_BYTES);
  return found && parseBiosRegistry(found.value);
}

/** The member for a registry. Vendors separate name and version in several ways, or omit the version. */
function fileNamed(paths: readonly string[], name: string): string | undefined {
  const last = (path: string) => lastPart(path).toLowerCase();
  const wanted = name.toLowerCase();
  const exact = paths.find((path) => last(path) === wanted);
  if (exact !== undefined) return exact;
  const similar = paths.filter((path) => withoutVersion(last(path)) === withoutVersion(wanted));
  return similar.length === 1 ? similar[0] : undefined;
}

/** Removes the version, such as in `biosattributeregistry.v1_0_0` and `biosattributeregistry.1.0.0.json`. */
function withoutVersion(name: string): string {
  return name.replace(/\.(v?\d|json$).*$/s, "");
}

/**
 * Reads an AttributeRegistry. Entries that differ from DSP0268 are left out. Undefined if it describes no attributes, or
 * more than any BIOS has.
 */
export function parseBiosRegistry(body: unknown): BiosRegistry | undefined {
  const parsed = AttributeRegistry.safeParse(body);
  const { Attributes: attributes = [], Dependencies: dependencies = [] } = parsed.data?.RegistryEntries ?? {};
  if (attributes.length === 0) return undefined;
  return {
    attributes: new Map(attributes.map((entry) => [entry.AttributeName, attributeOf(entry)])),
    dependencies: dependencies.map(({ Dependency: entry }) => dependencyOf(entry)),
  };
}

const TYPES = ["Boolean", "Integer", "Enumeration", "String", "Password"] as const;

function attributeOf(entry: z.infer<typeof Attribute>): BiosRegistryAttribute {
  const properties = BIOS_PROPERTIES.flatMap((name): [string, BiosValue][] => {
    const parsed = Value.safeParse(entry[name]);
    return parsed.success ? [[name, parsed.data]] : [];
  });
  return {
    type: TYPES.find((type) => type === entry.Type),
    values: (entry.Value ?? []).map(({ ValueName: name, ValueDisplayName: displayName }) => ({
      name,
      ...defined({ displayName }),
    })),
    properties: Object.fromEntries(properties),
  };
}

function dependencyOf(entry: z.infer<typeof Dependency>["Dependency"]): BiosDependency {
  return {
    attribute: entry.MapToAttribute,
    property: entry.MapToProperty,
    value: entry.MapToValue,
    conditions: entry.MapFrom.map((from) => ({
      attribute: from.MapFromAttribute,
      property: from.MapFromProperty,
      comparison: from.MapFromCondition,
      value: from.MapFromValue,
      or: from.MapTerms === "OR",
    })),
  };
}
