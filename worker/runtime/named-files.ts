import { type GivenText, givenNames, isConnectionVariable } from "../../shared/contract/given.ts";

/** A file that an action is told to read or write. */
export interface NamedFile {
  /** The variable or flag that names it. */
  readonly name: string;
  readonly path: string;
}

const NAMES_FILE = /_FILE$/;
const NAMES_PROGRAM = /_PROGRAM$/;

/**
 * The variables and flags that say which programs an action runs and in which files its connection is. Such an action runs with the
 * worker's own rights: a template that names its password file would read any file of the worker's.
 */
export function refusedNames(given: GivenText): readonly string[] {
  return givenNames(given).flatMap(({ name, variable = "" }) => {
    const isFile = NAMES_FILE.test(variable) && isConnectionVariable(variable);
    return isFile || NAMES_PROGRAM.test(variable) ? [name] : [];
  });
}

/** The other files that are named. A flag without its file has an empty path. */
export function namedFiles(given: GivenText): readonly NamedFile[] {
  return givenNames(given).flatMap(({ name, variable = "", value = "" }) =>
    NAMES_FILE.test(variable) && !isConnectionVariable(variable) ? [{ name, path: value }] : [],
  );
}
