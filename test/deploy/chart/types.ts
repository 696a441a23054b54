import { z } from "zod";
import { fieldProblems } from "../../../simulators/kubernetes/fields.ts";
import type { Manifest } from "./manifest.ts";

/** Everything of Kubernetes itself that the chart makes, in the version that serves it. */
const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  v1: ["ConfigMap", "Pod", "Service", "ServiceAccount"],
  "apps/v1": ["Deployment", "StatefulSet"],
  "networking.k8s.io/v1": ["NetworkPolicy"],
  "policy/v1": ["PodDisruptionBudget"],
  "rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
};

const Labels = z.record(z.string(), z.string());
const Metadata = z.strictObject({ name: z.string(), namespace: z.string(), labels: Labels });
const SecretKey = z.strictObject({ name: z.string(), key: z.string() });
const Rule = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: Labels,
  annotations: Labels,
});

/** The fields of the Prometheus operator's API that the chart uses. */
const OPERATOR: Readonly<Record<string, z.ZodType>> = {
  ServiceMonitor: z.strictObject({
    apiVersion: z.literal("monitoring.coreos.com/v1"),
    kind: z.string(),
    metadata: Metadata,
    spec: z.strictObject({
      jobLabel: z.string(),
      selector: z.strictObject({ matchLabels: Labels }),
      endpoints: z.tuple([
        z.strictObject({
          ...{ port: z.string(), path: z.string(), interval: z.string().regex(/^\d+(ms|s|m|h)$/) },
          scrapeTimeout: z
            .string()
            .regex(/^\d+s$/)
            .optional(),
          relabelings: z
            .array(z.strictObject({ targetLabel: z.string(), replacement: z.string() }))
            .optional(),
          metricRelabelings: z.array(z.strictObject({ action: z.string(), regex: z.string() })).optional(),
          authorization: z.strictObject({ credentials: SecretKey }).optional(),
          scheme: z.literal("https").optional(),
          tlsConfig: z
            .union([
              z.strictObject({ ca: z.strictObject({ secret: SecretKey }), serverName: z.string() }),
              z.strictObject({ insecureSkipVerify: z.boolean() }),
            ])
            .optional(),
        }),
      ]),
    }),
  }),
  PrometheusRule: z.strictObject({
    apiVersion: z.literal("monitoring.coreos.com/v1"),
    kind: z.string(),
    metadata: Metadata,
    spec: z.strictObject({
      groups: z.array(z.strictObject({ name: z.string(), rules: z.array(Rule).min(1) })),
    }),
  }),
};

/** What an API server that validates strictly would say of a manifest's fields and their types. */
export function typeProblems(manifest: Manifest): readonly string[] {
  const { apiVersion, kind } = manifest;
  const about = (problem: string) => `${kind} ${manifest.metadata.name}: ${problem}`;
  const schema = OPERATOR[kind];
  if (schema) {
    const { error } = schema.safeParse(manifest);
    return (error?.issues ?? []).map(({ path, message }) => about(`${path.join(".")} ${message}`));
  }
  if (!BUILT_IN[apiVersion]?.includes(kind)) return [about(`no such kind in ${apiVersion}`)];
  return fieldProblems(kind, manifest).map(about);
}
