import { type GivenText, givenNames, isConnectionVariable } from "../../shared/contract/given.ts";

export interface NamedFile {
  readonly name: string;
  readonly path: string;
}

const NAMES_FILE = /_FILE$/;
const NAMES_PROGRAM = /_PROGRAM$/;

/**
 * The variables and flags that name programs or connection files. Without a container an action has the worker's own
 * rights: a template that names a password file could read any file of the worker.
 */
export function refusedNames(given: GivenText): readonly string[] {
  return givenNames(given).flatMap(({ name, variable = "" }) => {
    const isFile = NAMES_FILE.test(variable) && isConnectionVariable(variable);
    return isFile || NAMES_PROGRAM.test(variable) ? [name] : [];
  });
}

/** The other named files. A flag without its file has an empty path. */
export function namedFiles(given: GivenText): readonly NamedFile[] {
  return givenNames(given).flatMap(({ name, variable = "", value = "" }) =>
    NAMES_FILE.test(variable) && !isConnectionVariable(variable) ? [{ name, path: value }] : [],
  );
}
