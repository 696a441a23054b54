import { z } from "zod";
import type { CrossCheck } from "../../config/cross-check.ts";
import type { ConfigPart } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { NamespaceName } from "../../document/kubernetes-values.ts";
import { ActionImage, Duration, Toggle } from "../../document/value-types.ts";
import { RUFIO_AGENT_ID } from "../shared/source-agent-ids.ts";
import { RUFIO_API_VERSIONS, type RufioApiVersion } from "./rufio-api.ts";

const DAY_MS = 24 * 3_600_000;

const settings = {
  rufio: setting(Toggle.prefault(false), {
    description: "Run Rufio's Jobs and Tasks, and update the status of its Machines",
    chart: { value: "rufio.enabled" },
    policyTest: true,
  }),
  rufioApi: setting(z.enum(RUFIO_API_VERSIONS).prefault("v1alpha1"), {
    description:
      "Version of the Jobs to run; those of v1alpha2 name a Hardware, and neither Machines nor Hardware get a status",
    type: RUFIO_API_VERSIONS.join("|"),
    chart: { value: "rufio.api" },
  }),
  rufioImage: setting(ActionImage.prefault("pbnj-worker/{action}:v{version}"), {
    description: "Image of the action that runs a Rufio task; must contain {action}",
    type: "image",
    chart: { derivedFrom: "rufio.image" },
    policyTest: true,
  }),
  rufioStatusInterval: setting(Duration(0, DAY_MS).prefault("3m"), {
    description:
      "How often the worker reads the power state of each Rufio Machine; 0 means only after actions",
    type: "duration",
    chart: { value: "rufio.statusInterval" },
  }),
  rufioHardware: setting(Toggle.prefault(true), {
    description:
      "Write each machine's hardware to the status of its Hardware object; without the rights, this part is skipped",
    chart: { value: "rufio.hardware" },
  }),
  rufioLeaseNamespace: setting(NamespaceName.optional(), {
    description: "Namespace of the Lease that a running Rufio holds",
    type: "namespace",
    defaultText: "the value of `kubernetesNamespace`",
    chart: { value: "rufio.leaseNamespace" },
  }),
  rufioAlone: setting(Toggle.prefault(false), {
    description:
      "Start although Rufio has never held its Lease: only where no Rufio runs, because one without leader election takes no Lease",
    chart: { value: "rufio.alone" },
  }),
};
type Given = SettingsOf<typeof settings> & {
  readonly agentId: readonly string[];
  readonly kubernetesSources: readonly { readonly prefix?: string | undefined }[];
};

const rules: readonly CrossCheck<Given>[] = [
  {
    settings: ["kubernetesSources", "rufio"],
    broken: ({ kubernetesSources, rufio }) =>
      rufio && kubernetesSources.some(({ prefix }) => prefix === undefined),
    message:
      "needs a prefix in each entry, because of {rufio}: a Rufio Job names a Machine of the worker's own cluster",
  },
  {
    settings: ["agentId", "rufio"],
    not: ["run"],
    broken: ({ agentId, rufio }) => rufio && agentId.includes(RUFIO_AGENT_ID),
    message: `holds ${RUFIO_AGENT_ID}, which is reserved for Rufio's Jobs: choose another one`,
  },
];

export interface RufioConfig {
  readonly api: RufioApiVersion;
  /** The image of the actions, which contains `{action}` and optionally `{version}`. */
  readonly image: string;
  /** How often to read each Machine's power state; 0 means only after actions. */
  readonly statusIntervalMs: number;
  /** Whether to write the status of Hardware. */
  readonly hardware: boolean;
  /** Whether the operator says that no Rufio runs in the cluster. */
  readonly alone: boolean;
  readonly leaseNamespace?: string | undefined;
}

export interface RufioPart {
  readonly rufio?: RufioConfig;
}

function config(given: Given): RufioPart {
  if (!given.rufio) return {};
  const { rufioImage: image, rufioStatusInterval: statusIntervalMs, rufioLeaseNamespace } = given;
  return {
    rufio: {
      api: given.rufioApi,
      image,
      statusIntervalMs,
      // In v1alpha2, Rufio is known to write the status of Jobs only.
      hardware: given.rufioHardware && given.rufioApi === "v1alpha1",
      alone: given.rufioAlone,
      leaseNamespace: rufioLeaseNamespace,
    },
  };
}

export const rufioSettings = {
  group: "Kubernetes",
  not: ["run"],
  settings,
  rules,
  images: {
    settings: ["rufio", "rufioImage"],
    of: ({ rufio, rufioImage: image }) => (rufio ? [{ image, use: "does Rufio's work" }] : []),
  },
  cluster: ({ rufio }) => (rufio ? "used" : undefined),
  config,
} satisfies ConfigPart<Given>;
