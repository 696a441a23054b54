import { writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { loadAction } from "../../actions/catalogue.ts";
import type { Action } from "../../actions/harness/action.ts";
import type { InputField } from "../../actions/harness/input/input.ts";
import type { ActionReference } from "../../actions/harness/input/reference.ts";
import { loadReference } from "../../scripts/action-folders.ts";
import { createCertificate } from "../../simulators/certificate.ts";

/** The input of an action's own example, for a run in a lab. */
export interface Sample {
  readonly action: Action;
  readonly reference: ActionReference;
  /** The action's own variables; files are in the lab's folder. */
  readonly env: Readonly<Record<string, string>>;
  /** The variables for a container, and the volumes that it needs, in the form of `--volume`. */
  readonly container: { readonly env: Readonly<Record<string, string>>; readonly volumes: readonly string[] };
  /** Passwords in the action's input. */
  readonly secrets: readonly string[];
  /** The machine as the example finds it; one that is waited for is there already. */
  readonly power: "on" | "off";
}

/** For a BMC of the lab. */
export const CERTIFICATE = createCertificate({ commonName: "127.0.0.1", altNames: ["127.0.0.1"] });
/** The longest that every BMC takes. */
const NEW_PASSWORD = "new-canary-51c7";

/** An action's example, with the files that it names put into `folder`. Throws for an action that has none. */
export async function sampleInput(name: string, folder: string): Promise<Sample> {
  const action = await loadAction(name);
  if (!action) throw new Error(`there is no action ${name}`);
  const reference = await loadReference(name);
  const { environment, volumes = [] } = reference;
  const env: Record<string, string> = { ...environment };
  const secrets: string[] = [];
  for (const field of Object.values(action.input)) {
    const value = environment[field.env];
    if (value === undefined) continue;
    if (field.secret) secrets.push(value);
    if (field.type !== "file") continue;
    env[field.env] = join(folder, basename(value));
    if (field.env === "CERTIFICATE_FILE") await writeFile(join(folder, basename(value)), CERTIFICATE.cert);
    else if (field.fromFile === "text") throw new Error(`${name}: the content of ${field.env} is not known`);
    if (field.fromFile === "secret") {
      await writeFile(join(folder, basename(value)), `${NEW_PASSWORD}\n`);
      secrets.push(NEW_PASSWORD);
    }
  }
  const paths = filePaths(action, environment);
  return {
    action,
    reference,
    env,
    container: { env: environment, volumes: volumes.map((volume) => labVolume(volume, paths, folder)) },
    secrets,
    power: powerOf(reference),
  };
}

function filePaths(action: Action, environment: ActionReference["environment"]): readonly string[] {
  const isFile = ({ type }: InputField) => type === "file";
  return Object.values(action.input)
    .filter(isFile)
    .flatMap(({ env }) => environment[env] ?? []);
}

/** A volume of an example, `/host/path:/path:ro`, out of the lab's folder instead. */
function labVolume(volume: string, paths: readonly string[], folder: string): string {
  const [, target = "", ...options] = volume.split(":");
  const holdsFiles = paths.some((path) => dirname(path) === target);
  return [holdsFiles ? folder : join(folder, basename(target)), target, ...options].join(":");
}

function powerOf({ environment, result }: ActionReference): "on" | "off" {
  return (environment["STATE"] ?? result.before) === "off" ? "off" : "on";
}
