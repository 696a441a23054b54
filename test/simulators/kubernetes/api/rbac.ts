/** What a user may do; a Role's rule with the namespaces it is bound in. */
export interface RbacRule {
  /** "" is the core group, `*` is all. */
  readonly apiGroups: readonly string[];
  /** With a subresource as `jobs/status`; `*` is all. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Absent or `*`: a ClusterRole bound in the whole cluster, cluster-scoped resources included. */
  readonly namespaces?: readonly string[] | "*";
  /** Absent: every name. A request without a name (create, list of all) is never among names. */
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

export const EVERYTHING: readonly RbacRule[] = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];

export function allows(rules: readonly RbacRule[], request: AccessRequest): boolean {
  return rules.some((rule) => ruleAllows(rule, request));
}

/** Those that count in the namespace. */
export function rulesIn(rules: readonly RbacRule[], namespace: string): RbacRule[] {
  return rules.filter((rule) => coversNamespace(rule, namespace));
}

/** The sentence after "is forbidden:". */
export function denial(user: string, request: AccessRequest): string {
  const { verb, group, namespace } = request;
  const resource = resourceOf(request);
  const place = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  return `User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" ${place}`;
}

function ruleAllows(rule: RbacRule, request: AccessRequest): boolean {
  return (
    has(rule.verbs, request.verb) &&
    has(rule.apiGroups, request.group) &&
    coversResource(rule.resources, request) &&
    coversNamespace(rule, request.namespace) &&
    (rule.resourceNames === undefined || rule.resourceNames.includes(request.name))
  );
}

function coversResource(resources: readonly string[], request: AccessRequest): boolean {
  const { subresource } = request;
  const all = subresource === "" ? "*" : `*/${subresource}`;
  return resources.includes("*") || resources.includes(all) || resources.includes(resourceOf(request));
}

function coversNamespace({ namespaces = "*" }: RbacRule, namespace: string): boolean {
  return namespaces === "*" || (namespace !== "" && namespaces.includes(namespace));
}

function has(list: readonly string[], value: string): boolean {
  return list.includes("*") || list.includes(value);
}

function resourceOf({ resource, subresource }: AccessRequest): string {
  return subresource === "" ? resource : `${resource}/${subresource}`;
}
