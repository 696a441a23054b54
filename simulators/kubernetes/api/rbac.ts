import { randomUUID } from "node:crypto";

/** A rule of a Role and the namespaces to which it applies. */
export interface RbacRule {
  /** The API groups: "" is the core group, `*` is every group. */
  readonly apiGroups: readonly string[];
  /** The resources, with a subresource in the form `jobs/status`; `*` is every resource. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** The namespaces. Absent or `*` means every namespace and cluster-scoped resources. */
  readonly namespaces?: readonly string[] | "*";
  /** The names of objects; absent means every name. A request without a name (create, list) matches no name. */
  readonly resourceNames?: readonly string[];
}

export interface AccessRequest {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** The namespace; "" for cluster-scoped resources and for all namespaces. */
  readonly namespace: string;
  readonly name: string;
}

export interface User {
  readonly name: string;
  readonly rules: readonly RbacRule[];
  /** Whether this is a component of the cluster: its requests are not recorded, and faults do not affect them. */
  readonly controlPlane: boolean;
}

const EVERYTHING: readonly RbacRule[] = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];

/** The users by bearer token. */
export class Users {
  readonly #byToken = new Map<string, User>();

  /** Adds a user and returns its token. */
  add(name: string, rules: readonly RbacRule[] = EVERYTHING, controlPlane = false): string {
    const token = `token-${randomUUID()}`;
    this.#byToken.set(token, { name, rules, controlPlane });
    return token;
  }

  remove(token: string): void {
    this.#byToken.delete(token);
  }

  find(authorization: string | undefined): User | undefined {
    return this.#byToken.get(authorization?.replace(/^Bearer /, "") ?? "");
  }
}

export function isAllowed(rules: readonly RbacRule[], request: AccessRequest): boolean {
  const matches = (list: readonly string[], value: string) => list.includes("*") || list.includes(value);
  return rules.some(
    ({ verbs, apiGroups, resources, namespaces = "*", resourceNames }) =>
      matches(verbs, request.verb) &&
      matches(apiGroups, request.group) &&
      matches(resources, resourceOf(request)) &&
      (namespaces === "*" || namespaces.includes(request.namespace)) &&
      (resourceNames === undefined || resourceNames.includes(request.name)),
  );
}

/** Returns the sentence after "is forbidden:". */
export function denialOf(user: User, request: AccessRequest): string {
  const { verb, group, namespace } = request;
  const place = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  return `User "${user.name}" cannot ${verb} resource "${resourceOf(request)}" in API group "${group}" ${place}`;
}

function resourceOf({ resource, subresource }: AccessRequest): string {
  return subresource === "" ? resource : `${resource}/${subresource}`;
}
