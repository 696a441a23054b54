import type { ResourceType } from "./resource-type.ts";

const EVENT_FIELDS = [
  "involvedObject.kind",
  "involvedObject.namespace",
  "involvedObject.name",
  "involvedObject.uid",
  "reason",
  "type",
];

/** The built-in kinds that this server knows: what a worker and Tinkerbell touch. */
export const BUILT_IN_TYPES: readonly ResourceType[] = [
  core("Namespace", "namespaces", {
    namespaced: false,
    subresources: ["status"],
    listFields: ["status.phase"],
  }),
  core("Node", "nodes", { namespaced: false, subresources: ["status"], listFields: ["spec.unschedulable"] }),
  core("Pod", "pods", {
    subresources: ["status", "log", "binding"],
    shortNames: ["po"],
    listFields: [
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "status.phase",
      "status.podIP",
      "status.nominatedNodeName",
    ],
  }),
  core("Secret", "secrets", { listFields: ["type"] }),
  core("ConfigMap", "configmaps", { shortNames: ["cm"] }),
  core("Event", "events", { shortNames: ["ev"], listFields: EVENT_FIELDS, createsOnUpdate: true }),
  core("ServiceAccount", "serviceaccounts", { shortNames: ["sa"] }),
  {
    group: "batch",
    version: "v1",
    kind: "Job",
    plural: "jobs",
    singular: "job",
    namespaced: true,
    subresources: ["status"],
    listFields: ["status.successful"],
  },
  {
    group: "coordination.k8s.io",
    version: "v1",
    kind: "Lease",
    plural: "leases",
    singular: "lease",
    namespaced: true,
    subresources: [],
    updateNeedsVersion: true,
    createsOnUpdate: true,
  },
  review("SelfSubjectAccessReview", "selfsubjectaccessreviews"),
  review("SelfSubjectRulesReview", "selfsubjectrulesreviews"),
];

function core(kind: string, plural: string, more: Partial<ResourceType> = {}): ResourceType {
  return {
    group: "",
    version: "v1",
    kind,
    plural,
    singular: kind.toLowerCase(),
    namespaced: true,
    subresources: [],
    ...more,
  };
}

function review(kind: string, plural: string): ResourceType {
  return {
    group: "authorization.k8s.io",
    version: "v1",
    kind,
    plural,
    singular: kind.toLowerCase(),
    namespaced: false,
    subresources: [],
    virtual: true,
  };
}
