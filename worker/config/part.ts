import type { Problem } from "../../shared/document/problem.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import type { CrossCheck } from "./cross-check.ts";
import type { ConfigCommand, Definitions } from "./setting.ts";

/**
 * The settings of one part of the worker, with their rules. `Given` contains the settings that the part reads: its own, and
 * a few of other parts. The table in `main/settings.ts` lists all parts; there the compiler checks that every name exists.
 */
export interface ConfigPart<Given> {
  /** The heading on the configuration page and in `--help`. */
  readonly group: string;
  readonly settings: Definitions;
  /** Commands that do not use the part's settings. */
  readonly not?: readonly ConfigCommand[];
  readonly rules?: readonly CrossCheck<Given>[];
  /** Warnings about values that are valid but probably not intended. */
  readonly concerns?: readonly CrossCheck<Given>[];
  /** Warnings about other programs' variables that the worker does not support. */
  readonly variableProblems?: (env: Environment) => readonly Problem[];
  /** Images that the worker itself launches: the policy must trust them. */
  readonly images?: OwnImages<Given>;
  /** `used` if the part calls the worker's own cluster, `opened` if it only needs its configuration. */
  readonly cluster?: (given: Given) => "used" | "opened" | undefined;
  /** Returns this part of the worker's configuration. Must not throw. */
  readonly config?: (given: Given, loading: Loading) => object;
}

interface OwnImages<Given> {
  /** The settings that determine the images. */
  readonly settings: readonly (keyof Given & string)[];
  readonly of: (given: Given) => readonly OwnImage[];
}

/** An image that the worker itself launches. */
export interface OwnImage {
  /** With `{action}` and optionally `{version}`. */
  readonly image: string;
  /** Completes the sentence "the image, which …". */
  readonly use: string;
}

/** Inputs from which a part builds its configuration. */
export interface Loading {
  readonly command: ConfigCommand;
  /** The absolute path of the state directory. */
  readonly stateDirectory: string;
  /** Whether any part calls the worker's own cluster. */
  readonly usesCluster: boolean;
  /** Whether any part needs the worker's own cluster, even if only its configuration. */
  readonly opensCluster: boolean;
  readonly read: ReadNamed;
}

/**
 * Reads the file that a setting names. Returns undefined without a path, and if `use` throws a `FileProblem`, which is
 * reported.
 */
export type ReadNamed = <T>(
  name: string,
  path: string | undefined,
  use: (text: string, path: string) => T,
) => T | undefined;
