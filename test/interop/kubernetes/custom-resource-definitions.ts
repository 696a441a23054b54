import { CUSTOM_TYPES, type ResourceType } from "../../../simulators/kubernetes/api/resource-types.ts";

const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;
/** The one default that the worker relies on. */
const CONNECTION = { ...ANYTHING, properties: { port: { type: "integer", default: 623 } } };

/**
 * Definitions of Tinkerbell's and Metal3's kinds. They accept any content: only the projects' own definitions show whether the worker's objects
 * are valid.
 */
export function customResourceDefinitions(): readonly object[] {
  const byResource = Map.groupBy(CUSTOM_TYPES, ({ group, plural }) => `${plural}.${group}`);
  return [...byResource].map(([name, types]) => definitionOf(name, types));
}

function definitionOf(name: string, types: readonly ResourceType[]): object {
  const versions = types.map(({ version, kind }, index) => {
    const properties = kind === "Machine" ? { connection: CONNECTION } : {};
    const schema = { type: "object", properties: { spec: { ...ANYTHING, properties }, status: ANYTHING } };
    return {
      name: version,
      ...{ served: true, storage: index === 0, subresources: { status: {} } },
      schema: { openAPIV3Schema: schema },
    };
  });
  const [first] = types;
  const names = { kind: first?.kind, plural: first?.plural };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: { group: first?.group, scope: "Namespaced", names, versions },
  };
}
