import type { Anonymiser } from "../../recording/anonymise.ts";
import type { RecordedAmt } from "../../recording/recording.ts";
import { childrenOf, findElement, type XmlElement } from "../providers/amt/xml.ts";

/** The fields of an instance, or of a method's input or output, in the device's order. */
export type AmtInstance = RecordedAmt["classes"][string][number];
type Value = AmtInstance[string];

/**
 * The only instances of these associations to record. Others name networks, users and certificates, and boot needs none of
 * them.
 */
const ONLY: Readonly<Record<string, readonly [field: string, of: string]>> = {
  CIM_ElementSettingData: ["SettingData", "CIM_BootConfigSetting"],
  CIM_OrderedComponent: ["PartComponent", "CIM_BootSourceSetting"],
};
const CLASS = /^[A-Za-z_][\w.-]*$/;
const KEY = /^[\w.-]+$/;

/** The fields of an instance; repeated ones become a list. */
export function instanceOf(element: XmlElement): AmtInstance {
  const fields = new Map<string, Value>();
  for (const child of element.children) {
    const { name } = child;
    const [value, before] = [contentOf(child), fields.get(name)];
    if (before === undefined) fields.set(name, value);
    else if (typeof value === "string" && (typeof before === "string" || Array.isArray(before)))
      fields.set(name, [before, value].flat());
  }
  return Object.fromEntries(fields);
}

/** The instances of a class that may be recorded; for associations, only those about boot. */
export function instancesOf(resource: string, elements: readonly XmlElement[]): readonly AmtInstance[] {
  const [field, of] = ONLY[resource] ?? [];
  const all = elements.map(instanceOf);
  return field === undefined ? all : all.filter((instance) => isReferenceTo(instance[field], of));
}

/** The class in a resource URI, such as `CIM_BootService`; undefined if it contains none. */
export function classIn(uri: string): string | undefined {
  const name = uri.replace(/^.*\//s, "");
  return CLASS.test(name) ? name : undefined;
}

/** The content of an element; null if it is neither text nor a reference. */
function contentOf(element: XmlElement): Value {
  if (element.children.length === 0) return element.text;
  const of = classIn(findElement(element, "ResourceURI")?.text ?? "");
  if (of === undefined) return null;
  const selectors = childrenOf(findElement(element, "SelectorSet"), "Selector");
  const keys = selectors.flatMap(({ attributes, children, text }) => {
    const name = attributes.get("Name") ?? "";
    return !KEY.test(name) || children.length > 0 ? [] : [[name, text] as const];
  });
  return { of, keys: Object.fromEntries(keys) };
}

function isReferenceTo(value: Value | undefined, of: string | undefined): boolean {
  return typeof value === "object" && value !== null && "of" in value && value.of === of;
}

/** An instance without anything that identifies the machine. */
export function anonymousInstance(instance: AmtInstance, anonymiser: Anonymiser): AmtInstance {
  const text = (name: string, value: string): string | null => {
    const shown = anonymiser.value(value, name);
    return typeof shown === "string" ? shown : null;
  };
  const valueShown = (name: string, value: Value): Value => {
    if (typeof value === "string") return text(name, value);
    if (Array.isArray(value)) return value.map((one) => text(name, one) ?? "");
    if (value === null) return null;
    const keys = Object.entries(value.keys).map(([key, one]) => [key, text(key, one) ?? ""]);
    return { of: value.of, keys: Object.fromEntries(keys) };
  };
  return Object.fromEntries(Object.entries(instance).map(([name, value]) => [name, valueShown(name, value)]));
}
