import type { Cluster } from "./cluster.ts";
import type { NeededRight } from "./needed-right.ts";

export interface MissingRight {
  readonly right: NeededRight;
  readonly text: string;
}

export interface RightScopes {
  readonly own: string;
  readonly watched: string;
}

/** Asks the API which of the rights the worker lacks. Rejects as `Cluster.may` does. */
export async function findMissingRights(
  cluster: Cluster,
  rights: readonly NeededRight[],
  scopes: RightScopes,
  signal: AbortSignal,
): Promise<readonly MissingRight[]> {
  const asked = rights.flatMap((right) => right.verbs.map((verb) => ({ right, verb })));
  const answers = await Promise.all(
    asked.map(async ({ right, verb }) => {
      const [resource = "", subresource] = right.resource.split("/");
      const kind = { group: right.group, version: "*", kind: "", resource };
      const scope = scopes[right.scope];
      const namespace = scope === "*" ? undefined : scope;
      const { name: object } = right;
      const may = await cluster.may({ verb, kind, subresource, namespace, name: object }, signal);
      const name = right.group === "" ? right.resource : `${right.resource}.${right.group}`;
      const place = namespace === undefined ? "in all namespaces" : `in ${namespace}`;
      return { may, right, text: `${verb} ${name}${object === undefined ? "" : ` ${object}`} ${place}` };
    }),
  );
  return answers.filter(({ may }) => !may);
}
