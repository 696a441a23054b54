import { resolve } from "node:path";
import { type GivenText, givenNames, isConnectionVariable } from "../../shared/contract/given.ts";
import type { Action } from "../core/action/action.ts";

/** Decides whether an action may use a file of the host, with the worker's own rights. */
export type FilePermit = (
  file: NamedFile,
  action: Action,
) => Promise<{ readonly allowed: true } | { readonly allowed: false; readonly reason: string }>;

export interface Refusal {
  readonly class: "unsupported" | "usage";
  readonly reason: string;
}

/** Why an action cannot run without a container; undefined if it can. */
export async function refusalOf(
  action: Action,
  permitFile: FilePermit = refuseFile,
): Promise<Refusal | undefined> {
  const moved = action.volumes.find((volume) => !staysInPlace(volume));
  if (moved !== undefined) {
    return unsupported(`mounts nothing: source and target of the volume ${moved} must be the same path`);
  }
  if (action.networkNamespace || action.pidNamespace) return unsupported("has no namespaces");
  const refused = refusedNames(action);
  if (refused.length > 0) return unsupported(`takes no ${refused.join(", ")} from a template`);
  for (const file of namedFiles(action)) {
    const permission = await permitFile(file, action);
    if (!permission.allowed) return { class: "usage", reason: permission.reason };
  }
  return undefined;
}

function staysInPlace(volume: string): boolean {
  const [source = "", target = ""] = volume.split(":");
  return source.startsWith("/") && resolve(source) === resolve(target);
}

function unsupported(what: string): Refusal {
  return { class: "unsupported", reason: `the process runtime ${what}` };
}

const refuseFile: FilePermit = async ({ name, path }) => ({
  allowed: false,
  reason: `the process runtime has no files for actions: ${name} ${path}`,
});

interface NamedFile {
  readonly name: string;
  readonly path: string;
}

const NAMES_FILE = /_FILE$/;
const NAMES_PROGRAM = /_PROGRAM$/;

/**
 * The variables and flags that name programs or connection files. Without a container an action has the worker's own
 * permissions: a template that names a password file could read any file of the worker.
 */
export function refusedNames(given: GivenText): readonly string[] {
  return givenNames(given).flatMap(({ name, variable = "" }) => {
    const isFile = NAMES_FILE.test(variable) && isConnectionVariable(variable);
    return isFile || NAMES_PROGRAM.test(variable) ? [name] : [];
  });
}

/** The other files that the template names. A flag without its file has an empty path. */
export function namedFiles(given: GivenText): readonly NamedFile[] {
  return givenNames(given).flatMap(({ name, variable = "", value = "" }) =>
    NAMES_FILE.test(variable) && !isConnectionVariable(variable) ? [{ name, path: value }] : [],
  );
}
