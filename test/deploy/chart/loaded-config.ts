import { type LoadConfigInput, type LoadedConfig, loadConfig } from "../../../worker/main/load-config.ts";
import type { WorkerConfig } from "../../../worker/main/settings.ts";
import { imageEnvironment, present } from "./cases.ts";
import { type Manifest, workloadOf } from "./manifest.ts";
import { mountedFiles } from "./mounted-files.ts";

/** What the worker makes of its pod: arguments, variables and files. */
export function loadIn(manifests: readonly Manifest[]): LoadedConfig {
  const { template } = workloadOf(manifests).spec;
  const [{ args, env }] = template.spec.containers;
  const files = mountedFiles(template, manifests, present);
  const [command, flag, path] = args;
  if ((command !== "start" && command !== "serve") || flag !== "--config" || args.length !== 3)
    throw new Error(args.join(" "));
  const input: LoadConfigInput = {
    flags: { config: path },
    env: { ...imageEnvironment, ...Object.fromEntries(env.map(({ name, value = "" }) => [name, value])) },
    readFile(file) {
      const text = files.get(file);
      if (text === undefined) throw Object.assign(new Error(file), { code: "ENOENT" });
      // The host of the tests has no number at the end of its name.
      return text.replace("shard: auto/", "shard: 1/");
    },
  };
  return loadConfig(input, command);
}

export function configIn(manifests: readonly Manifest[]): WorkerConfig {
  const loaded = loadIn(manifests);
  if (!loaded.ok)
    throw new Error(loaded.problems.map(({ source, message }) => `${source} ${message}`).join("\n"));
  return loaded.config;
}
