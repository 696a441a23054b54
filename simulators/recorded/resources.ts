import { withoutEndSlashes } from "../../shared/end-slashes.ts";

/** The body of a resource. */
export type Body = Record<string, unknown>;

const PLACES: readonly (readonly [RegExp, string])[] = [
  [/\/Systems\/[^/]+$/, "ComputerSystem"],
  [/\/Managers\/[^/]+$/, "Manager"],
  [/\/Accounts\/[^/]+$/, "ManagerAccount"],
  [/\/EthernetInterfaces\/[^/]+$/, "EthernetInterface"],
  [/\/(Firmware|Software)Inventory\/[^/]+$/, "SoftwareInventory"],
  [/\/Drives\/[^/]+$/, "Drive"],
  [/\/Volumes\/[^/]+$/, "Volume"],
  [/\/SecureBoot$/, "SecureBoot"],
  [/\/UpdateService$/, "UpdateService"],
];

/** An action and the resource to which it belongs. */
export interface OwnedAction {
  readonly owner: string;
  /** The name, such as `ComputerSystem.Reset`. */
  readonly name: string;
  readonly body: Body;
}

/** A recorded tree that can change. */
export class RecordedResources {
  readonly #bodies = new Map<string, Body>();
  /** The recorded path by its lower-case form. */
  readonly #lower = new Map<string, string>();
  readonly #actions = new Map<string, OwnedAction>();

  constructor(resources: Readonly<Record<string, unknown>>) {
    for (const [path, body] of Object.entries(resources)) {
      if (isBody(body)) this.set(withoutEndSlashes(path), structuredClone(body));
    }
    // Members that were sent inside their collection.
    for (const [, { Members: members }] of [...this.#bodies]) {
      for (const member of Array.isArray(members) ? members : []) {
        const path = linkOf(member);
        if (path !== undefined && isBody(member) && "Id" in member && !this.has(path)) this.set(path, member);
      }
    }
  }

  get(path: string): Body | undefined {
    return this.#bodies.get(this.#known(path));
  }

  has(path: string): boolean {
    return this.get(path) !== undefined;
  }

  set(path: string, body: Body): void {
    const key = this.#known(path);
    this.#bodies.set(key, body);
    this.#lower.set(key.toLowerCase(), key);
    for (const action of actionsIn(body, key)) this.#actions.set(action.target.toLowerCase(), action);
  }

  delete(path: string): void {
    this.#bodies.delete(this.#known(path));
    const collection = this.get(path.slice(0, path.lastIndexOf("/")));
    if (!collection || !Array.isArray(collection["Members"])) return;
    setMembers(
      collection,
      collection["Members"].filter((member) => linkOf(member)?.toLowerCase() !== path.toLowerCase()),
    );
  }

  /** Adds a member to a collection. Returns its path. */
  add(collection: string, id: string, body: Body): string {
    const path = `${withoutEndSlashes(collection)}/${id}`;
    this.set(path, { "@odata.id": path, Id: id, ...body });
    const list = this.get(collection);
    if (list) setMembers(list, [...membersOf(list), { "@odata.id": path }]);
    return path;
  }

  /** Returns the resources of a type in any version. */
  ofType(type: string): readonly (readonly [string, Body])[] {
    return [...this.#bodies].filter(([path]) => this.typeOf(path) === type);
  }

  /** Returns the type, which is `Volume` for `#Volume.v1_6_0.Volume`. If the resource does not say, the path determines it. */
  typeOf(path: string): string {
    const type = this.get(path)?.["@odata.type"];
    if (typeof type === "string") return type.replace(/^#/, "").replace(/\..*$/s, "");
    return PLACES.find(([place]) => place.test(path))?.[1] ?? "";
  }

  all(): readonly (readonly [string, Body])[] {
    return [...this.#bodies];
  }

  action(target: string): OwnedAction | undefined {
    return this.#actions.get(withoutEndSlashes(target).toLowerCase());
  }

  #known(path: string): string {
    const key = withoutEndSlashes(path);
    return this.#bodies.has(key) ? key : (this.#lower.get(key.toLowerCase()) ?? key);
  }
}

export function isBody(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function linkOf(value: unknown): string | undefined {
  const link = isBody(value) ? value["@odata.id"] : undefined;
  return typeof link === "string" ? withoutEndSlashes(link) : undefined;
}

export function membersOf(collection: Body): readonly unknown[] {
  return Array.isArray(collection["Members"]) ? collection["Members"] : [];
}

export function setMembers(collection: Body, members: readonly unknown[]): void {
  collection["Members"] = members;
  collection["Members@odata.count"] = members.length;
}

function actionsIn(body: Body, owner: string): (OwnedAction & { readonly target: string })[] {
  const found: (OwnedAction & { readonly target: string })[] = [];
  const look = (value: unknown): void => {
    if (!isBody(value)) return;
    for (const [key, action] of Object.entries(value)) {
      const isAction = key.startsWith("#") && isBody(action);
      if (!isAction) look(action);
      else {
        const name = key.slice(1);
        const target = typeof action["target"] === "string" ? action["target"] : `${owner}/Actions/${name}`;
        found.push({ owner, name, body: action, target: withoutEndSlashes(target) });
      }
    }
  };
  look(body["Actions"]);
  return found;
}

/**
 * Applies a PATCH as in DSP0266 section 7.6.5: objects are merged, and arrays are replaced, but objects at the same index
 * are merged.
 */
export function merge(into: Body, from: Body): void {
  for (const [name, value] of Object.entries(from)) {
    if (name === "__proto__") continue;
    const before = into[name];
    if (isBody(value) && isBody(before)) merge(before, value);
    else if (Array.isArray(value) && Array.isArray(before)) into[name] = mergedList(before, value);
    else into[name] = value;
  }
}

function mergedList(before: readonly unknown[], after: readonly unknown[]): unknown[] {
  const list = after.flatMap((value, index) => {
    const old = before[index];
    if (value === null) return [];
    if (!isBody(value) || !isBody(old)) return [value];
    const whole = structuredClone(old);
    merge(whole, value);
    return [whole];
  });
  // A list of fixed size keeps its padding.
  const padding = before.at(-1) === "" && list.every((value) => typeof value === "string");
  while (padding && list.length < before.length) list.push("");
  return list;
}
