import { z } from "zod";
import { GroupName, ObjectNameText, WatchNamespace } from "../../document/kubernetes-values.ts";
import { List, Text } from "../../document/value-types.ts";

/** The kinds of objects that can be machines. */
export const InventoryKind = z.enum(["machines", "hardware", "baremetalhosts"]);
export type InventoryKind = z.infer<typeof InventoryKind>;

/** The name of the machine source that is the worker's own cluster, unless the settings name it. */
export const LOCAL_SOURCE = "local";

const Prefix = z.string().regex(/^[a-z0-9][a-z0-9.-]{0,39}$/, {
  error: "must be the beginning of a machine's name, such as edge-",
});
const NamespacePattern = z.string().regex(/^[a-z0-9*-]+$/, {
  error: "must be the name of a namespace, in which * matches a part, such as team-a-*",
});

const MachineSourceEntry = z
  .strictObject({
    name: GroupName,
    /** A Secret in the worker's namespace with a kubeconfig. */
    identityRef: z.strictObject({ name: ObjectNameText, contextName: Text.optional() }).optional(),
    /** The path of a kubeconfig file. */
    kubeconfig: Text.optional(),
    /** The context of the kubeconfig file to use. */
    contextName: Text.optional(),
    inventory: List(InventoryKind).prefault(["machines"]),
    watchNamespace: WatchNamespace.optional(),
    prefix: Prefix.optional(),
    workflowNamespaces: z.union([z.literal("same"), List(NamespacePattern)]).optional(),
  })
  .check(({ value: { name, identityRef, kubeconfig, contextName, inventory, watchNamespace }, issues }) => {
    const isOwn = identityRef === undefined && kubeconfig === undefined;
    const rules: readonly [boolean, string, string][] = [
      [identityRef !== undefined && kubeconfig !== undefined, "kubeconfig", "conflicts with identityRef"],
      [contextName !== undefined && kubeconfig === undefined, "contextName", "needs kubeconfig"],
      [inventory.length === 0, "inventory", "must not be empty"],
      [
        isOwn && watchNamespace !== undefined,
        "watchNamespace",
        "is for other clusters: set the setting watchNamespace for the worker's own",
      ],
      [
        !isOwn && name === LOCAL_SOURCE,
        "name",
        `must not be ${LOCAL_SOURCE}, which is the worker's own cluster`,
      ],
    ];
    for (const [isBroken, key, message] of rules) {
      if (isBroken) issues.push({ code: "custom", message, path: [key], input: undefined });
    }
  });
export type MachineSourceEntry = z.infer<typeof MachineSourceEntry>;

/** Whether the entry means the worker's own cluster. */
export function isOwnSource({ identityRef, kubeconfig }: MachineSourceEntry): boolean {
  return identityRef === undefined && kubeconfig === undefined;
}

/** The machine sources: a list in the configuration file, or JSON in an environment variable. */
export const MachineSources = z.preprocess(
  jsonOf,
  z
    .array(MachineSourceEntry)
    .max(64)
    .check(({ value, issues }) => {
      const names = value.map(({ name }) => name);
      for (const [index, name] of names.entries()) {
        if (names.indexOf(name) === index) continue;
        issues.push({ code: "custom", message: "is used twice", path: [index, "name"], input: name });
      }
      if (value.filter(isOwnSource).length < 2) return;
      const message = "must have at most one entry without identityRef and kubeconfig";
      issues.push({ code: "custom", message, path: [], input: value });
    }),
);

function jsonOf(given: unknown): unknown {
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}
