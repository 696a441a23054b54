import { randomUUID } from "node:crypto";

/** A rule of a Role, with the namespaces that it applies to. */
export interface RbacRule {
  /** "" is the core group, `*` is all. */
  readonly apiGroups: readonly string[];
  /** With a subresource as `jobs/status`; `*` is all. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Absent or `*`: everywhere, cluster-scoped resources included. */
  readonly namespaces?: readonly string[] | "*";
  /** Absent: every name. A request without a name (create, list of all) matches no name. */
  readonly resourceNames?: readonly string[];
}

export interface AccessRequest {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** "" for cluster-scoped resources and for all namespaces. */
  readonly namespace: string;
  readonly name: string;
}

export interface User {
  readonly name: string;
  readonly rules: readonly RbacRule[];
  /** A part of the cluster itself: its requests are not recorded, and no fault affects them. */
  readonly controlPlane: boolean;
}

const EVERYTHING: readonly RbacRule[] = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];

/** Users by bearer token. */
export class Users {
  readonly #byToken = new Map<string, User>();

  /** Gives the new user's token. */
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

/** The sentence after "is forbidden:". */
export function denialOf(user: User, request: AccessRequest): string {
  const { verb, group, namespace } = request;
  const place = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  return `User "${user.name}" cannot ${verb} resource "${resourceOf(request)}" in API group "${group}" ${place}`;
}

function resourceOf({ resource, subresource }: AccessRequest): string {
  return subresource === "" ? resource : `${resource}/${subresource}`;
}
