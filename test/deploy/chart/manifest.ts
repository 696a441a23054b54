import { z } from "zod";

/** Any object that the chart makes. */
export const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()),
  }),
});
export type Manifest = z.infer<typeof Manifest>;

export function manifestOf(value: unknown): Manifest {
  return Manifest.parse(value);
}

export const Labels = z.record(z.string(), z.string());
const Item = z.object({ key: z.string(), path: z.string() });
const Source = z.object({ name: z.string(), items: z.array(Item).optional() });
const Probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string(), scheme: z.string() }) });

const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
  startupProbe: Probe,
  livenessProbe: Probe,
  readinessProbe: Probe,
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
});

const Volume = z.object({
  name: z.string(),
  projected: z
    .object({
      sources: z.array(z.object({ configMap: Source.optional(), secret: Source.optional() })),
    })
    .optional(),
  secret: z.object({ secretName: z.string() }).optional(),
});
export type Volume = z.infer<typeof Volume>;

/** The pod of a Deployment or StatefulSet. */
export const PodTemplate = z.object({
  metadata: z.object({ labels: Labels, annotations: Labels }),
  spec: z.looseObject({
    serviceAccountName: z.string(),
    automountServiceAccountToken: z.boolean(),
    shareProcessNamespace: z.boolean().optional(),
    terminationGracePeriodSeconds: z.number(),
    containers: z.tuple([Container]).rest(z.looseObject({ name: z.string() })),
    volumes: z.array(Volume),
  }),
});
export type PodTemplate = z.infer<typeof PodTemplate>;

export const Workload = Manifest.extend({
  kind: z.enum(["Deployment", "StatefulSet"]),
  spec: z.looseObject({
    replicas: z.number(),
    serviceName: z.string().optional(),
    strategy: z.object({ type: z.string() }).optional(),
    selector: z.object({ matchLabels: Labels }),
    template: PodTemplate,
    volumeClaimTemplates: z.array(z.object({ metadata: z.object({ name: z.string() }) })).optional(),
  }),
});
export type Workload = z.infer<typeof Workload>;

export const Role = Manifest.extend({
  rules: z.array(
    z.strictObject({
      apiGroups: z.array(z.string()),
      resources: z.array(z.string()),
      resourceNames: z.array(z.string()).optional(),
      verbs: z.array(z.string()),
    }),
  ),
});

export const Binding = Manifest.extend({
  roleRef: z.object({ kind: z.string(), name: z.string() }),
  subjects: z.tuple([
    z.object({ kind: z.literal("ServiceAccount"), name: z.string(), namespace: z.string() }),
  ]),
});

export const ConfigMap = Manifest.extend({ data: z.record(z.string(), z.string()) });

/** All of a kind. */
export function allOf<T>(
  manifests: readonly Manifest[],
  kinds: readonly string[],
  schema: z.ZodType<T>,
): readonly T[] {
  return manifests.filter(({ kind }) => kinds.includes(kind)).map((manifest) => schema.parse(manifest));
}

export function workloadOf(manifests: readonly Manifest[]): Workload {
  const [workload, ...more] = allOf(manifests, ["Deployment", "StatefulSet"], Workload);
  if (!workload || more.length > 0) throw new Error("there is not just one workload");
  return workload;
}

/** Whether an object with these labels is selected. */
export function selects(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}
