import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { defined } from "../../shared/defined.ts";
import { valueProblems } from "../../shared/document/issue-problems.ts";
import type { Checked, Problem } from "../../shared/document/problem.ts";
import { parseYaml, type YamlDocument } from "../../shared/document/yaml-document.ts";
import { fileProblemOf, type ReadTextFile, readTextFile } from "../../shared/read-text-file.ts";
import { crossProblems } from "../config/cross-check.ts";
import {
  environmentWarnings,
  fileProblems,
  type GivenSetting,
  givenValues,
  settingProblem,
} from "../config/given-values.ts";
import type { Loading, OwnImage } from "../config/part.ts";
import type { NamedText } from "../config/pem.ts";
import type { ConfigCommand } from "../config/setting.ts";
import { DEFAULT_PBNJ_ADDRESS } from "../features/pbnj/pbnj-settings.ts";
import { agentIdsOf } from "../machines/agent-id.ts";
import { emptyInventory, type Inventory } from "../machines/inventory.ts";
import { parseInventory } from "../machines/parse-inventory.ts";
import { parsePolicy } from "../policy/parse-policy.ts";
import { defaultPolicy, type Policy } from "../policy/policy.ts";
import { settleTrust, type TrustSettings } from "../policy/settle-trust.ts";
import {
  PARTS,
  type PartsConfig,
  policyTestSettings,
  type Settings,
  SettingsSchema,
  settings as table,
  type WorkerConfig,
} from "./settings.ts";

export interface LoadConfigInput {
  /** Flags by setting name, as returned by commander's `opts()`. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile?: ReadTextFile;
  /** The names of all actions; without them, those that the inventory names are not checked. */
  readonly actions?: readonly string[];
}

export type Loaded<Config> =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };
export type LoadedConfig = Loaded<WorkerConfig>;

/**
 * Loads the settings of `pbnj-worker start`, `serve` or `run` and every file that they name. Precedence: flag, `PBNJ_` variable,
 * other workers' variables, configuration file, default. Reports all problems, not just the first. `run` needs no tink server and no
 * agent ID.
 */
export function loadConfig(input: LoadConfigInput, command: ConfigCommand = "start"): LoadedConfig {
  const { config, inventory, policy, found } = readParts(input, command);
  const areas = [found.settings, found.inventory, found.policy, found.trust];
  const problems = areas.flatMap((area) => area.problems);
  // A misspelt variable may be why a setting is missing.
  const misspelt = environmentWarnings(table, input.env);
  if (problems.length > 0 || !inventory || !policy)
    return { ok: false, problems: [...problems, ...misspelt] };
  return { ok: true, config, warnings: areas.flatMap((area) => area.warnings) };
}

/** The settings and files that determine which actions may run. */
export interface Rules {
  readonly settings: Settings;
  readonly inventory: Inventory;
  readonly policy: Policy;
}

/** Loads the rules for `pbnj-worker policy test`, which reads no secrets from variables or files. */
export function loadRules({ flags, env, readFile = readTextFile, actions }: LoadConfigInput): Loaded<Rules> {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const take = <T>(checked: Checked<T>): T | undefined => {
    if (checked.ok) warnings.push(...checked.warnings);
    else problems.push(...checked.problems);
    return checked.ok ? checked.value : undefined;
  };
  const file = take(configFile({ flags, env }, readFile));
  if (file) problems.push(...fileProblems(table, file));
  const given = givenValues(policyTestSettings, { flags, env, file });
  const { settings, problems: wrong } = parseSettings(given);
  problems.push(...wrong);
  const inventory = take(
    openNamed("inventory", settings.inventory, emptyInventory, given, readFile, (path, text) =>
      parseInventory({ path, text, env: {}, readFile, actions, alone: true }),
    ),
  );
  const policy = take(
    openNamed("policy", settings.policy, defaultPolicy, given, readFile, (path, text) =>
      parsePolicy(path, text),
    ),
  );
  const settled = policy && take(settle(policy, settings, given));
  if (problems.length > 0 || !inventory || !settled) return { ok: false, problems };
  return { ok: true, config: { settings, inventory, policy: settled }, warnings };
}

/** The state directory of users without a home directory, which is common in containers. */
const SYSTEM_STATE_DIRECTORY = "/var/lib/pbnj-worker";

/** The state directory by the XDG Base Directory Specification. */
function defaultStateDirectory(env: LoadConfigInput["env"]): string {
  const base = env["XDG_STATE_HOME"] ?? "";
  if (isAbsolute(base)) return join(base, "pbnj-worker");
  try {
    return join(env["HOME"] || homedir(), ".local/state/pbnj-worker");
  } catch {
    return SYSTEM_STATE_DIRECTORY;
  }
}

interface AreaFindings {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** The areas that are checked separately. `trust` covers the trusted images of settings and policy together. */
type ConfigArea = "settings" | "inventory" | "policy" | "trust";

/** Everything that could be read, even if other parts are invalid. */
export interface ExaminedConfig {
  /** The settings; invalid ones have their default. */
  readonly settings: Settings;
  readonly invalid: ReadonlySet<string>;
  /** Settings with a file that cannot be used. */
  readonly unreadable: ReadonlySet<string>;
  readonly given: ReadonlyMap<string, GivenSetting>;
  /** False if the configuration file cannot be read: the values of all settings are then uncertain. */
  readonly complete: boolean;
  /** The configuration for `start`; invalid parts have their default. */
  readonly config: WorkerConfig;
  readonly inventory: Inventory | undefined;
  readonly policy: Policy | undefined;
  readonly found: Readonly<Record<ConfigArea, AreaFindings>>;
}

/**
 * Loads the configuration for callers that check each part separately: for `serve` if the settings have an address for
 * PBnJ's API and no tink server, else for `start`.
 */
export function examineConfig(input: LoadConfigInput): ExaminedConfig {
  const { settings } = readParts(input, "start");
  const serves = settings.grpcServer === undefined && settings.pbnjAddress !== undefined;
  return readParts(input, serves ? "serve" : "start");
}

function readParts(
  { flags, env, readFile = readTextFile, actions }: LoadConfigInput,
  command: ConfigCommand,
): ExaminedConfig {
  const found = {
    settings: areaFindings(),
    inventory: areaFindings(),
    policy: areaFindings(),
    trust: areaFindings(),
  };
  const { problems, warnings } = found.settings;
  problems.push(...PARTS.flatMap((part) => part.variableProblems?.(env) ?? []));
  warnings.push(...environmentWarnings(table, env));
  const take = <T>(area: ConfigArea, checked: Checked<T>): T | undefined => {
    if (checked.ok) found[area].warnings.push(...checked.warnings);
    else found[area].problems.push(...checked.problems);
    return checked.ok ? checked.value : undefined;
  };

  const file = take("settings", configFile({ flags, env }, readFile));
  if (file) problems.push(...fileProblems(table, file));
  const given = givenValues(table, { flags, env, file });
  const { settings: parsed, invalid, problems: wrong } = parseSettings(given);
  const settings = command === "serve" ? servedSettings(parsed) : parsed;
  problems.push(...wrong);

  // Without the configuration file, missing or conflicting settings cannot be detected.
  const complete = file !== undefined || !given.has("config");
  const cross = { settings, invalid, given, table, command };
  const rules = PARTS.flatMap((part) => part.rules ?? []);
  const concerns = PARTS.flatMap((part) => part.concerns ?? []);
  if (complete) problems.push(...crossProblems(rules, cross));
  warnings.push(...crossProblems(concerns, cross));
  const unreadable = new Set<string>();
  const read: Loading["read"] = (name, path, use) => {
    if (path === undefined) return undefined;
    try {
      return use(readFile(path), path);
    } catch (thrown) {
      unreadable.add(name);
      problems.push(settingProblem(name, `${path} ${fileProblemOf(thrown)}`, given, table));
      return undefined;
    }
  };
  const stateDirectory = resolve(settings.stateDirectory ?? defaultStateDirectory(env));
  const parts = configOfParts(settings, { command, stateDirectory, read });
  const watched: { inventory?: NamedText; policy?: NamedText } = {};
  const inventory = take(
    "inventory",
    openNamed("inventory", settings.inventory, emptyInventory, given, readFile, (path, text) => {
      watched.inventory = { path, text };
      return parseInventory({ path, text, env, readFile, actions });
    }),
  );
  const written = take(
    "policy",
    openNamed("policy", settings.policy, defaultPolicy, given, readFile, (path, text) => {
      watched.policy = { path, text };
      return parsePolicy(path, text);
    }),
  );
  // The runtime is uncertain, and so is what the policy must contain.
  const isUncertain = !complete || TRUST_SETTINGS.some((name) => invalid.has(name));
  const policy = isUncertain ? written : written && take("trust", settle(written, settings, given));
  if (command === "start") found.inventory.problems.push(...noAgentIds(settings, inventory, given));
  const config = {
    ...parts,
    agentIds: agentIdsAtStart(parts, inventory),
    inventory: inventory ?? emptyInventory,
    policy: policy ?? defaultPolicy,
    trust: trustSettings(settings),
    watched,
  };
  return { settings, invalid, unreadable, given, complete, config, inventory, policy, found };
}

/** Builds the configuration of all parts from their settings. */
function configOfParts(
  settings: Settings,
  terms: Omit<Loading, "usesCluster" | "opensCluster">,
): PartsConfig {
  const uses = PARTS.map((part) => part.cluster?.(settings));
  const loading = {
    ...terms,
    usesCluster: uses.includes("used"),
    opensCluster: uses.some((use) => use !== undefined),
  };
  return Object.assign({}, ...PARTS.map((part) => part.config?.(settings, loading)));
}

function agentIdsAtStart(
  { server, fixedAgentIds, agentIdPattern, shard }: PartsConfig,
  inventory: Inventory | undefined,
): readonly string[] {
  const machines = server ? (inventory?.machines() ?? []) : [];
  return agentIdsOf(fixedAgentIds, agentIdPattern, machines, shard);
}

/** The settings that determine which images are trusted. */
const TRUST_SETTINGS = [
  "runtime",
  "unsafeAnyImage",
  ...PARTS.flatMap(({ images }) => images?.settings ?? []),
];

function trustSettings(settings: Settings): TrustSettings {
  const { runtime, unsafeAnyImage } = settings;
  const ownImages: readonly OwnImage[] = PARTS.flatMap(({ images }) => images?.of(settings) ?? []);
  return { runtime, unsafeAnyImage, ownImages };
}

/** The settings of `serve`: without a tink server, with PBnJ's API. */
function servedSettings({ pbnjAddress = DEFAULT_PBNJ_ADDRESS, ...settings }: Settings): Settings {
  return { ...settings, grpcServer: undefined, pbnjAddress };
}

function settle(
  policy: Policy,
  settings: Settings,
  given: ReadonlyMap<string, GivenSetting>,
): Checked<Policy> {
  const settled = settleTrust(policy, trustSettings(settings));
  if (settled.ok) return { ok: true, value: settled.policy, warnings: [] };
  const { message, fix } = settled;
  const problem =
    settings.policy === undefined
      ? settingProblem("policy", message, given, table)
      : { source: settings.policy, message };
  return { ok: false, problems: [{ ...problem, ...defined({ fix }) }] };
}

function areaFindings(): { readonly problems: Problem[]; readonly warnings: Problem[] } {
  return { problems: [], warnings: [] };
}

/** The file named by `--config` or `PBNJ_CONFIG`, if any. */
function configFile(sources: LoadConfigInput, readFile: ReadTextFile): Checked<YamlDocument | undefined> {
  const given = givenValues(table, sources);
  const path = given.get("config")?.value;
  if (typeof path !== "string" || path.trim() === "") return { ok: true, value: undefined, warnings: [] };
  return openNamed<YamlDocument | undefined>("config", path.trim(), undefined, given, readFile, parseYaml);
}

function openNamed<T>(
  name: keyof Settings & string,
  path: string | undefined,
  fallback: T,
  given: ReadonlyMap<string, GivenSetting>,
  readFile: ReadTextFile,
  parse: (path: string, text: string) => Checked<T>,
): Checked<T> {
  if (path === undefined) return { ok: true, value: fallback, warnings: [] };
  let text: string;
  try {
    text = readFile(path);
  } catch (thrown) {
    return { ok: false, problems: [settingProblem(name, `${path} ${fileProblemOf(thrown)}`, given, table)] };
  }
  return parse(path, text);
}

/** Parses every setting; an invalid one gets its default and a problem. */
function parseSettings(given: ReadonlyMap<string, GivenSetting>): {
  readonly settings: Settings;
  readonly invalid: ReadonlySet<string>;
  readonly problems: readonly Problem[];
} {
  const raw = Object.fromEntries([...given].map(([name, { value }]) => [name, value]));
  const parsed = SettingsSchema.safeParse(raw);
  if (parsed.success) return { settings: parsed.data, invalid: new Set(), problems: [] };
  const invalid = new Set(parsed.error.issues.map(({ path }) => String(path[0])));
  const problems = valueProblems(SettingsSchema, raw, parsed.error.issues).map(({ path, message }) =>
    settingProblem(
      String(path[0]),
      message + hintOf(given.get(String(path[0]))?.value, message),
      given,
      table,
      partOf(path),
    ),
  );
  const valid = Object.fromEntries(Object.entries(raw).filter(([name]) => !invalid.has(name)));
  return { settings: SettingsSchema.parse(valid), invalid, problems };
}

const QUOTED = /^\s*(["']).*\1\s*$/s;

/** What is probably wrong with a value that no setting accepts; empty if nothing is known. */
function hintOf(value: unknown, message: string): string {
  if (typeof value !== "string") return "";
  // Shells remove quotes; files of variables, such as Docker's, keep them.
  if (QUOTED.test(value)) return "; the value is in quotes: remove them";
  const [scheme] = /^\s*[a-z]+:\/\//i.exec(value) ?? [];
  return scheme !== undefined && message.includes("host:port") ? `; remove ${scheme.trim()}` : "";
}

/** The position in a list of objects; empty for other settings. */
function partOf([, ...path]: readonly PropertyKey[]): string {
  return path.some((key) => typeof key === "string") ? path.map((key) => `.${String(key)}`).join("") : "";
}

function noAgentIds(
  settings: Settings,
  inventory: Inventory | undefined,
  given: ReadonlyMap<string, GivenSetting>,
): readonly Problem[] {
  const { agentId, inventory: file, kubernetesInventory, kubernetesSources, rufio } = settings;
  const isInCluster = kubernetesInventory.length > 0 || kubernetesSources.length > 0 || rufio;
  const elsewhere = isInCluster || given.has("agentId");
  const needed = agentId.length === 0 && file !== undefined && !elsewhere;
  if (!needed || !inventory || inventory.machines().length > 0) return [];
  const message = "has no machines, and no agent ID is set: the worker has no agent ID to poll with";
  return [settingProblem("inventory", message, given, table)];
}
