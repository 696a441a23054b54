import { dirname, resolve } from "node:path";
import type { Problem } from "../../shared/document/problem.ts";
import type { YamlDocument } from "../../shared/document/yaml-document.ts";
import { nearestName, suggestion } from "../../shared/nearest-name.ts";
import type { Setting } from "./setting.ts";

/** A value as the operator wrote it. */
export interface GivenSetting {
  readonly value: unknown;
  /** Where the value was given, such as `--grpc-server`, `PBNJ_GRPC_SERVER` or `worker.yaml:12`. */
  readonly source: string;
  /** The setting's name at its source: a flag, a variable or a file key. */
  readonly called: string;
}

/** A problem with a setting or a `part` of it. Names the place where the setting was given; otherwise its flag or variable. */
export function settingProblem(
  name: string,
  message: string,
  given: ReadonlyMap<string, GivenSetting>,
  settings: readonly Setting[],
  part = "",
): Problem {
  const { source, called } = given.get(name) ?? {
    source: nameOf(name, settings),
    called: nameOf(name, settings),
  };
  return { source, message: source === called && part === "" ? message : `${called}${part} ${message}` };
}

/** The setting's flag, or its variable if it has no flag. */
export function nameOf(name: string, settings: readonly Setting[]): string {
  const setting = settings.find((candidate) => candidate.name === name);
  return setting?.flag ?? setting?.env ?? name;
}

/** Sources of settings, highest precedence first. */
export interface ConfigSources {
  /** By setting name, as commander returns them: text, a list of texts, or true for a flag without a value. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file?: YamlDocument | undefined;
}

/** Finds the value of each setting by precedence: flag, `PBNJ_` variable, other workers' variables, file. */
export function givenValues(
  settings: readonly Setting[],
  sources: ConfigSources,
): ReadonlyMap<string, GivenSetting> {
  const given = new Map<string, GivenSetting>();
  for (const setting of settings) {
    const value =
      fromFlag(setting, sources) ?? fromEnvironment(setting, sources) ?? fromFile(setting, sources);
    if (value) given.set(setting.name, value);
  }
  return given;
}

function fromFlag({ flag, name }: Setting, { flags }: ConfigSources): GivenSetting | undefined {
  const value = flags[name];
  return flag === undefined || value === undefined ? undefined : { value, source: flag, called: flag };
}

/** An empty variable counts as not set, because deployments use it for settings that they do not need. */
function fromEnvironment({ env, aliases = [] }: Setting, sources: ConfigSources): GivenSetting | undefined {
  for (const source of [env, ...aliases]) {
    const value = sources.env[source];
    if (value !== undefined && value.trim() !== "") return { value, source, called: source };
  }
  return undefined;
}

/** The beginning of a URL, for settings that accept a path or a URL. */
const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i;

function fromFile(setting: Setting, { file }: ConfigSources): GivenSetting | undefined {
  if (!file || setting.noFileKey !== undefined) return undefined;
  const value = entriesOf(file.value).find(([key]) => key === setting.name)?.[1];
  if (value === undefined || value === null) return undefined;
  const absolute = (path: unknown) =>
    typeof path === "string" && path.trim() !== "" && !URL_START.test(path.trim())
      ? resolve(dirname(file.path), path.trim())
      : path;
  return {
    value: setting.path ? absolute(value) : withPaths(value, setting.pathKeys, absolute),
    source: file.sourceOf([setting.name]),
    called: setting.name,
  };
}

/** Copies a list of objects and changes the values of `keys`. */
function withPaths(
  value: unknown,
  keys: readonly string[] = [],
  absolute: (path: unknown) => unknown,
): unknown {
  if (keys.length === 0 || !Array.isArray(value)) return value;
  return value.map((item: unknown) => {
    if (typeof item !== "object" || item === null) return item;
    return Object.fromEntries(
      Object.entries(item).map(([key, given]) => [key, keys.includes(key) ? absolute(given) : given]),
    );
  });
}

/** Reports unknown and forbidden keys of a configuration file. */
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
 * Warns about variables that look like a misspelled setting. They are no errors: a Kubernetes service named `pbnj` adds
 * variables to every pod.
 */
export function environmentWarnings(
  settings: readonly Setting[],
  env: Readonly<Record<string, string | undefined>>,
): readonly Problem[] {
  const names = settings.map((setting) => setting.env);
  return Object.keys(env)
    .filter((name) => /^PBNJ_/i.test(name) && !names.includes(name))
    .flatMap((name) => {
      const nearest = nearestName(name, names);
      return nearest ? [{ source: name, message: `is not known, did you mean ${nearest}?` }] : [];
    });
}

function entriesOf(value: unknown): readonly [string, unknown][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}
