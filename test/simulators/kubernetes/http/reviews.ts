import type { V1SelfSubjectAccessReview, V1SelfSubjectRulesReview } from "@kubernetes/client-node";
import { badRequest, invalid } from "../api/failure.ts";
import type { JsonObject, KubeObject } from "../api/object.ts";
import { allows, type RbacRule, rulesIn } from "../api/rbac.ts";
import { FieldErrors } from "../validation/field-errors.ts";

/** SelfSubjectAccessReview: whether this user may do one thing. */
export function reviewAccess(review: KubeObject, rules: readonly RbacRule[]): JsonObject {
  const { spec } = review as unknown as V1SelfSubjectAccessReview;
  const { resourceAttributes, nonResourceAttributes } = spec ?? {};
  if ((resourceAttributes === undefined) === (nonResourceAttributes === undefined)) {
    const errors = new FieldErrors();
    errors.invalid(
      "spec.resourceAttributes",
      resourceAttributes,
      "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
    throw invalid({ kind: "", group: "authorization.k8s.io" }, "", errors.causes);
  }
  const {
    verb = "",
    group = "",
    resource = "",
    subresource = "",
    namespace = "",
    name = "",
  } = resourceAttributes ?? {};
  const allowed =
    resourceAttributes === undefined ||
    allows(rules, { verb, group, resource, subresource, namespace, name });
  return { ...review, status: { allowed } };
}

/** SelfSubjectRulesReview: what this user may do in a namespace. */
export function reviewRules(review: KubeObject, rules: readonly RbacRule[]): JsonObject {
  const { spec } = review as unknown as V1SelfSubjectRulesReview;
  const { namespace } = spec ?? {};
  if (!namespace) throw badRequest("no namespace on request");
  const resourceRules = rulesIn(rules, namespace).map(({ namespaces: _, ...rule }) => rule);
  return {
    ...review,
    spec: {},
    status: {
      resourceRules,
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version"] }],
      incomplete: false,
    },
  };
}
