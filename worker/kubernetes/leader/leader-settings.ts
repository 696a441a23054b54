import type { CrossCheck } from "../../config/cross-check.ts";
import type { ConfigPart } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { GroupName } from "../../document/kubernetes-values.ts";
import { Toggle } from "../../document/value-types.ts";

const settings = {
  leaderElection: setting(Toggle.prefault(false), {
    description:
      "Elect one leader among the workers with the same Lease; only it works, and the others take over",
    chart: { derivedFrom: "leaderElection.enabled" },
  }),
  leaderElectionLease: setting(GroupName.prefault("pbnj-worker"), {
    description:
      "Name of that Lease, in the worker's namespace; with shards each one has its own, such as `pbnj-worker-0`",
    type: "name",
    chart: { derivedFrom: "leaderElection.lease" },
  }),
};
type Given = SettingsOf<typeof settings> & {
  readonly runtime: string;
  readonly shard: { readonly index: number; readonly of: number } | undefined;
};

const rules: readonly CrossCheck<Given>[] = [
  {
    settings: ["leaderElection", "runtime"],
    not: ["run"],
    broken: ({ leaderElection, runtime }) => leaderElection && runtime !== "kubernetes",
    message: "needs {runtime} kubernetes: the next leader can only adopt actions that run in the cluster",
  },
];

interface LeaderElectionConfig {
  /** The name of this shard's Lease. */
  readonly lease: string;
  /** The name of the group of all shards, which owns the Jobs. */
  readonly group: string;
}

interface LeaderPart {
  /** Absent without leader election. */
  readonly leaderElection?: LeaderElectionConfig;
}

function config({ leaderElection, leaderElectionLease: group, shard }: Given): LeaderPart {
  if (!leaderElection) return {};
  const lease = shard && shard.of > 1 ? `${group}-${shard.index}` : group;
  return { leaderElection: { group, lease } };
}

export const leaderSettings = {
  group: "Kubernetes",
  not: ["run"],
  settings,
  rules,
  cluster: ({ leaderElection }) => (leaderElection ? "used" : undefined),
  config,
} satisfies ConfigPart<Given>;
