import { dirname, resolve } from "node:path";
import type { Problem } from "../../shared/document/problem.ts";
import type { YamlDocument } from "../../shared/document/yaml-document.ts";
import { nearestName, suggestion } from "../../shared/nearest-name.ts";
import type { Setting } from "./setting.ts";

/** A value as an operator wrote it, and where. */
export interface GivenValue {
  readonly value: unknown;
  /** `--grpc-server`, `PBNJ_GRPC_SERVER`, `worker.yaml:12`. */
  readonly source: string;
  /** What the setting is called there: the flag, the variable, the file's key. */
  readonly called: string;
}

/** Something wrong with a setting, where it was given or, when it was not, where it is best given. */
export function settingProblem(
  name: string,
  message: string,
  given: ReadonlyMap<string, GivenValue>,
  settings: readonly Setting[],
): Problem {
  const { source, called } = given.get(name) ?? {
    source: nameOf(name, settings),
    called: nameOf(name, settings),
  };
  return { source, message: source === called ? message : `${called} ${message}` };
}

/** The flag of a setting, or its variable where it has none. */
export function nameOf(name: string, settings: readonly Setting[]): string {
  const setting = settings.find((candidate) => candidate.name === name);
  return setting?.flag ?? setting?.env ?? name;
}

/** Where settings come from, the strongest first. */
export interface ConfigSources {
  /** By setting name, as the command line has them: text, a list of it, or true for a flag without a value. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file?: YamlDocument;
}

/** The strongest value of each setting: flag, `PBNJ_` variable, other workers' variables, file. */
export function givenValues(
  settings: readonly Setting[],
  sources: ConfigSources,
): ReadonlyMap<string, GivenValue> {
  const given = new Map<string, GivenValue>();
  for (const setting of settings) {
    const value =
      fromFlag(setting, sources) ?? fromEnvironment(setting, sources) ?? fromFile(setting, sources);
    if (value) given.set(setting.name, value);
  }
  return given;
}

function fromFlag({ flag, name }: Setting, { flags }: ConfigSources): GivenValue | undefined {
  const value = flags[name];
  return flag === undefined || value === undefined ? undefined : { value, source: flag, called: flag };
}

/** An empty variable counts as not set: that is how deployments leave out what they do not need. */
function fromEnvironment({ env, aliases = [] }: Setting, sources: ConfigSources): GivenValue | undefined {
  for (const source of [env, ...aliases]) {
    const value = sources.env[source];
    if (value !== undefined && value.trim() !== "") return { value, source, called: source };
  }
  return undefined;
}

function fromFile(setting: Setting, { file }: ConfigSources): GivenValue | undefined {
  if (!file || setting.noFileKey !== undefined) return undefined;
  const value = entriesOf(file.value).find(([key]) => key === setting.name)?.[1];
  if (value === undefined || value === null) return undefined;
  const relative = setting.path && typeof value === "string" && value.trim() !== "";
  return {
    value: relative ? resolve(dirname(file.path), value.trim()) : value,
    source: file.sourceOf([setting.name]),
    called: setting.name,
  };
}

/** What a configuration file holds that it should not. */
export function fileProblems(settings: readonly Setting[], file: YamlDocument): readonly Problem[] {
  if (file.value === null || file.value === undefined) return [];
  if (typeof file.value !== "object" || Array.isArray(file.value)) {
    return [
      { source: file.sourceOf([]), message: "must contain settings, one per line, such as runtime: docker" },
    ];
  }
  const names = settings.filter(({ noFileKey }) => noFileKey === undefined).map(({ name }) => name);
  return entriesOf(file.value)
    .map(([key]) => key)
    .filter((key) => !names.includes(key))
    .map((key) => ({
      source: file.sourceOf([key]),
      message: `${key} ${
        settings.find(({ name }) => name === key)?.noFileKey ?? `is not known${suggestion(key, names)}`
      }`,
    }));
}

/**
 * Variables that look like a misspelt setting. No more than a warning: in Kubernetes, a service called `pbnj`
 * puts variables of its own into every pod.
 */
export function environmentWarnings(
  settings: readonly Setting[],
  env: Readonly<Record<string, string | undefined>>,
): readonly Problem[] {
  const names = settings.map((setting) => setting.env);
  return Object.keys(env)
    .filter((name) => name.startsWith("PBNJ_") && !names.includes(name))
    .flatMap((name) => {
      const nearest = nearestName(name, names);
      return nearest ? [{ source: name, message: `is not known, did you mean ${nearest}?` }] : [];
    });
}

/** Settings of other workers that ask for what this one does not have. */
export function peerProblems(env: Readonly<Record<string, string | undefined>>): readonly Problem[] {
  const transport = env["AGENT_TRANSPORT"];
  if (!transport || transport === "grpc") return [];
  return [{ source: "AGENT_TRANSPORT", message: "must be grpc: other transports are not supported" }];
}

function entriesOf(value: unknown): readonly [string, unknown][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}
