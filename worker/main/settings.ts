import { z } from "zod";
import type { ConfigPart } from "../config/part.ts";
import type { NamedText } from "../config/pem.ts";
import {
  type ConfigCommand,
  type Definitions,
  type Setting,
  type SettingsOf,
  settingOf,
} from "../config/setting.ts";
import type { FeatureDefinition } from "../features/feature.ts";
import { clusterSettings } from "../kubernetes/client/cluster-settings.ts";
import { leaderSettings } from "../kubernetes/leader/leader-settings.ts";
import { httpSettings } from "../listener/http/http-settings.ts";
import type { Inventory } from "../machines/inventory.ts";
import type { Policy } from "../policy/policy.ts";
import type { TrustSettings } from "../policy/settle-trust.ts";
import { containerSettings } from "../runtimes/container-settings.ts";
import { engineSettings, registrySettings } from "../runtimes/docker/docker-settings.ts";
import { podSettings } from "../runtimes/kubernetes/pod-settings.ts";
import { processSettings } from "../runtimes/process/process-settings.ts";
import { serverSettings } from "../sources/server/server-settings.ts";
import { actionSettings, agentIdSettings, fileSettings, logSettings } from "./core-settings.ts";
import { TABLE } from "./features.ts";

/** The headings of the configuration page in order; other headings follow. */
const GROUPS: readonly string[] = [
  ...["Files", "Agent IDs", "Tink server", "Hardware", "Actions"],
  ...["Process runtime", "Docker runtime", "Containers", "Image registry"],
  ...["PBnJ API", "Kubernetes", "Kubernetes runtime", "Operating", "Log"],
];

const FIRST = [
  ...([fileSettings, agentIdSettings, serverSettings, actionSettings] as const),
  ...([processSettings, engineSettings, containerSettings, registrySettings] as const),
  ...([clusterSettings, podSettings, httpSettings, logSettings] as const),
] as const;
const LAST = [leaderSettings] as const;

type Feature = (typeof TABLE)[number];
type Part =
  | (typeof FIRST | typeof LAST)[number]
  | Extract<Feature, { readonly settings: object }>["settings"];

type All<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer Intersection,
) => void
  ? Intersection
  : never;
type ValuesOf<Each> = Each extends { readonly settings: infer Defined extends Definitions }
  ? SettingsOf<Defined>
  : never;
type ConfigOf<Each> = Each extends { readonly config: (...given: never[]) => infer Config } ? Config : never;

/** The values of all settings. Durations are milliseconds, sizes bytes. */
export interface Settings extends All<ValuesOf<Part>> {}

/** The configuration that the parts build from their settings. */
export interface PartsConfig extends All<ConfigOf<Part>> {}

/** The configuration of a worker: that of all parts, and the files that determine which actions may run. */
export interface WorkerConfig extends PartsConfig {
  /** The agent IDs at start: the fixed ones and one per machine. */
  readonly agentIds: readonly string[];
  readonly inventory: Inventory;
  /** The result of `settleTrust`. */
  readonly policy: Policy;
  /** The trust settings, for reloaded policies. */
  readonly trust: TrustSettings;
  /** The files that are reloaded when they change. */
  readonly watched: WatchedRules;
}

interface WatchedRules {
  readonly inventory?: NamedText;
  readonly policy?: NamedText;
}

/** Every part of the worker that has settings: the core, the services and the features, in their order within the headings. */
export const PARTS: readonly ConfigPart<Settings>[] = [
  ...FIRST,
  ...TABLE.flatMap((feature) => ("settings" in feature ? [feature.settings] : [])),
  ...LAST,
];

export const FEATURES: readonly FeatureDefinition<WorkerConfig>[] = TABLE;

/** The source of flags, environment variables, configuration file keys, defaults, the reference page and the chart's schema. */
export const settings: readonly Setting[] = PARTS.flatMap((part) =>
  Object.entries(part.settings).map(([name, definition]) => settingOf(name, definition, part)),
).toSorted((one, other) => rank(one) - rank(other));

function rank({ group }: Setting): number {
  const index = GROUPS.indexOf(group);
  return index < 0 ? GROUPS.length : index;
}

export function settingsFor(command: ConfigCommand): readonly Setting[] {
  return settings.filter(({ not }) => !not.includes(command));
}

/** The settings that determine whether actions may run. */
export const policyTestSettings = settings.filter(({ policyTest }) => policyTest);

/** The schema of all settings. Its type is built from the same definitions. */
export const SettingsSchema: z.ZodType<Settings> = z
  .object(Object.fromEntries(settings.map(({ name, schema }) => [name, schema])))
  .transform((values) => values as Settings);
