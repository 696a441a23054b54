/** A value of a BIOS attribute, as Redfish has it. */
export type BiosValue = string | number | boolean;

/** BIOS attributes by name. */
export type BiosAttributes = Readonly<Record<string, BiosValue>>;

/** Types of attributes (DSP0268, AttributeRegistry); undefined is one that the BMC does not name or that is not known. */
export type BiosType = "Boolean" | "Integer" | "Enumeration" | "String" | "Password" | undefined;

/** What the BMC's registry says of an attribute; a field that it does not have is absent. */
export interface BiosRegistryAttribute {
  readonly type: BiosType;
  /** The values of an enumeration. */
  readonly values: readonly { readonly name: string; readonly displayName?: string }[];
  /** The registry's names and values of limits and flags: `LowerBound`, `MaxLength`, `ReadOnly`. */
  readonly properties: Readonly<Partial<Record<BiosProperty, BiosValue>>>;
}

/** Properties of attributes that limit what may be set. A grayed-out attribute may be set (DSP0268, AttributeRegistry). */
export const BIOS_PROPERTIES = [
  "ReadOnly",
  "Immutable",
  "Hidden",
  "LowerBound",
  "UpperBound",
  "ScalarIncrement",
  "MinLength",
  "MaxLength",
] as const;
export type BiosProperty = (typeof BIOS_PROPERTIES)[number];

/** One condition of a dependency, combined with those before it by its own `or`. */
export interface BiosCondition {
  readonly attribute: string;
  /** `CurrentValue`, or a property of the attribute. */
  readonly property: string;
  readonly comparison: string;
  readonly value: unknown;
  readonly or: boolean;
}

/** If all conditions hold, `property` of `attribute` is `value`. */
export interface BiosDependency {
  readonly attribute: string;
  readonly property: BiosProperty;
  readonly value: BiosValue;
  readonly conditions: readonly BiosCondition[];
}

/** The BMC's description of its BIOS attributes. */
export interface BiosRegistry {
  readonly attributes: ReadonlyMap<string, BiosRegistryAttribute>;
  readonly dependencies: readonly BiosDependency[];
}

/** A property of an attribute, and the attribute whose value made it so. */
export interface EffectiveProperty {
  readonly value: BiosValue | undefined;
  /** Absent if the registry says so in any case. */
  readonly because?: string;
}

/** A dependency on a property that itself depends on others is followed this far; BIOSes have two levels. */
const DEEPEST = 16;

/**
 * The properties of attributes if the BIOS had these values. Some BMCs write the registry anew for the values in force: what these
 * make of a property holds for them alone.
 */
export function effectiveProperties(
  registry: BiosRegistry,
  values: BiosAttributes,
  inForce?: BiosAttributes,
): (name: string, property: BiosProperty) => EffectiveProperty {
  const inForceOf = inForce && effectiveProperties(registry, inForce);
  const byTarget = Map.groupBy(
    registry.dependencies,
    ({ attribute, property }) => `${property} ${attribute}`,
  );
  const known = new Map<string, EffectiveProperty>();

  const propertyOf = (name: string, property: BiosProperty, depth = 0): EffectiveProperty => {
    const key = `${property} ${name}`;
    const found = known.get(key);
    if (found) return found;
    const listed = registry.attributes.get(name)?.properties[property];
    const made = inForceOf?.(name, property);
    const isMade = made?.because !== undefined && made.value === listed;
    const own: EffectiveProperty = { value: isMade ? undefined : listed };
    // What depends on itself, or on too much, is as the registry has it.
    known.set(key, own);
    if (depth >= DEEPEST) return own;
    let effective = own;
    for (const { conditions, value } of byTarget.get(key) ?? []) {
      if (holds(conditions, depth)) effective = { value, because: conditions[0]?.attribute ?? name };
    }
    known.set(key, effective);
    return effective;
  };
  const holds = (conditions: readonly BiosCondition[], depth: number): boolean =>
    conditions.reduce((all, { attribute, property, comparison, value, or }, index) => {
      if (index > 0 && (or ? all : !all)) return all;
      const is =
        property === "CurrentValue"
          ? attributeValue(values, attribute)
          : isProperty(property)
            ? propertyOf(attribute, property, depth + 1).value
            : undefined;
      return is !== undefined && compare(is, comparison, value);
    }, false);
  return propertyOf;
}

/** An attribute's own value: names come from BMCs and may be those of methods. */
export function attributeValue(attributes: BiosAttributes, name: string): BiosValue | undefined {
  return Object.hasOwn(attributes, name) ? attributes[name] : undefined;
}

function isProperty(name: string): name is BiosProperty {
  return BIOS_PROPERTIES.some((property) => property === name);
}

/** DSP0268, AttributeRegistry, MapFromCondition. */
function compare(is: BiosValue, comparison: string, other: unknown): boolean {
  switch (comparison) {
    case "EQU":
      return is === other;
    case "NEQ":
      return is !== other;
    case "GTR":
      return typeof other === "number" && Number(is) > other;
    case "GEQ":
      return typeof other === "number" && Number(is) >= other;
    case "LSS":
      return typeof other === "number" && Number(is) < other;
    case "LEQ":
      return typeof other === "number" && Number(is) <= other;
    default:
      return false;
  }
}
