/** A value of a BIOS attribute in the types of Redfish. */
export type BiosValue = string | number | boolean;

/** BIOS attributes by name. */
export type BiosAttributes = Readonly<Record<string, BiosValue>>;

/** The types of attributes (DSP0268, AttributeRegistry). Undefined if the BMC names no type or an unknown one. */
export type BiosType = "Boolean" | "Integer" | "Enumeration" | "String" | "Password" | undefined;

/** The registry's description of an attribute. A field that the registry lacks is absent. */
export interface BiosRegistryAttribute {
  readonly type: BiosType;
  /** The values of an enumeration. */
  readonly values: readonly { readonly name: string; readonly displayName?: string }[];
  /** Limits and flags with the registry's names and values: `LowerBound`, `MaxLength`, `ReadOnly`. */
  readonly properties: Readonly<Partial<Record<BiosProperty, BiosValue>>>;
}

/**
 * The properties of attributes that limit the allowed values. A grayed-out attribute may be set (DSP0268,
 * AttributeRegistry).
 */
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

/** A condition of a dependency. Its own `or` combines it with the conditions before it. */
export interface BiosCondition {
  readonly attribute: string;
  /** `CurrentValue` or a property of the attribute. */
  readonly property: string;
  readonly comparison: string;
  readonly value: unknown;
  readonly or: boolean;
}

/** A dependency: if all conditions hold, `property` of `attribute` is `value`. */
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

/** A property of an attribute, and the attribute with the value that caused it. */
export interface EffectiveProperty {
  readonly value: BiosValue | undefined;
  /** Absent if the registry sets the property unconditionally. */
  readonly because?: string;
}

/** How far a dependency is followed if its property depends on others. BIOSes have two levels. */
const DEEPEST = 16;

/**
 * Returns the properties that attributes would have if the BIOS had these values. Some BMCs rewrite the registry for the
 * values in force, so that the resulting properties apply to those values only.
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
    // A property that depends on itself, or on too many others, is taken from the registry.
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

/** Returns an attribute's own value. Names come from BMCs and may be those of inherited methods. */
export function attributeValue(attributes: BiosAttributes, name: string): BiosValue | undefined {
  return Object.hasOwn(attributes, name) ? attributes[name] : undefined;
}

function isProperty(name: string): name is BiosProperty {
  return BIOS_PROPERTIES.some((property) => property === name);
}

/** Compares values (DSP0268, AttributeRegistry, MapFromCondition). */
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
