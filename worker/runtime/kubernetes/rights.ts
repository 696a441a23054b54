import type { Cluster } from "../../kubernetes/cluster.ts";
import { KINDS, type Kind, resourceName } from "../../kubernetes/kinds.ts";
import type { NeededRight } from "../../kubernetes/needed-right.ts";

/** What running actions in pods needs, all of it in the worker's own namespace. */
export const RIGHTS: readonly NeededRight[] = [
  {
    group: "batch",
    resource: "jobs",
    verbs: ["create", "get", "list", "watch", "patch", "delete"],
    scope: "own",
    why: "Each action is a Job: made, let run, watched, ended, and found again after a restart",
  },
  {
    group: "",
    resource: "pods",
    verbs: ["list", "watch"],
    scope: "own",
    why: "The pod of a Job tells how far its action is, and how it ended",
  },
  {
    group: "",
    resource: "pods",
    verbs: ["delete"],
    scope: "own",
    why: "An action whose time is over is stopped at once",
    without: "the Job's own deadline stops it, as soon as the cluster's controller gets to it",
  },
  {
    group: "",
    resource: "pods/log",
    verbs: ["get"],
    scope: "own",
    why: "What an action logs goes into the worker's log",
    without: "actions' logs stay in the cluster, and results of more than 4 KiB lose what they read",
  },
  {
    group: "",
    resource: "secrets",
    verbs: ["create", "delete"],
    scope: "own",
    why: "The connection of a machine whose Secret is not in this namespace is handed over as a Secret of its own",
    without: "only machines whose Secrets are in this namespace can be acted on",
  },
  {
    group: "",
    resource: "events",
    verbs: ["list"],
    scope: "own",
    why: "Events tell why a pod was not made or cannot mount its Secret",
    without: "such a failure is reported without its reason",
  },
];

const KINDS_BY_RESOURCE: ReadonlyMap<string, Kind> = new Map(
  Object.values(KINDS).map((kind) => [resourceName(kind), kind]),
);

/** What of `RIGHTS` the worker does not have, such as `create jobs.batch`. */
export interface MissingRights {
  readonly needed: readonly string[];
  readonly useful: readonly string[];
}

export async function findMissingRights(cluster: Cluster, signal: AbortSignal): Promise<MissingRights> {
  const asked = RIGHTS.flatMap((right) => right.verbs.map((verb) => ({ right, verb })));
  const answers = await Promise.all(
    asked.map(async ({ right, verb }) => {
      const [resource = "", subresource] = right.resource.split("/");
      const name = right.group === "" ? resource : `${resource}.${right.group}`;
      const kind = KINDS_BY_RESOURCE.get(name);
      if (!kind) throw new Error(`${name} is no known kind`);
      const { namespace } = cluster;
      const may = await cluster.may({ verb, kind, namespace, ...(subresource && { subresource }) }, signal);
      const what = subresource ? `${name}/${subresource}` : name;
      return { may, text: `${verb} ${what}`, useful: right.without !== undefined };
    }),
  );
  const missing = answers.filter(({ may }) => !may);
  return {
    needed: missing.filter(({ useful }) => !useful).map(({ text }) => text),
    useful: missing.filter(({ useful }) => useful).map(({ text }) => text),
  };
}
