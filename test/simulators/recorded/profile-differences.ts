import { isDeepStrictEqual } from "node:util";
import type { ShownProfile } from "../../../simulators/recorded/profile.ts";
import type { RedfishProfile } from "../../../simulators/redfish/profiles.ts";

/** Where a profile differs from what resources say of it, by the names of the fields, such as `media.slots`. */
export function differences(profile: RedfishProfile, shown: ShownProfile): Record<string, unknown> {
  const own = new Map(fieldsOf(profile));
  const wrong = fieldsOf(shown).filter(([name, value]) => !isDeepStrictEqual(own.get(name), value));
  return Object.fromEntries(wrong.map(([name, value]) => [name, { shown: value, profile: own.get(name) }]));
}

function fieldsOf(value: object, path = ""): readonly (readonly [string, unknown])[] {
  return Object.entries(value).flatMap(([name, field]: [string, unknown]) =>
    typeof field === "object" && field !== null && !Array.isArray(field)
      ? fieldsOf(field, `${path}${name}.`)
      : [[`${path}${name}`, field] as const],
  );
}
