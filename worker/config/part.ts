import type { Problem } from "../../shared/document/problem.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import type { CrossCheck } from "./cross-check.ts";
import type { ConfigCommand, Definitions } from "./setting.ts";

/**
 * The settings of one part of the worker, with their rules. `Given` has the settings that the part reads: its own, and a few
 * of other parts. The table in `main/settings.ts` lists all parts; there the compiler checks that every name exists.
 */
export interface ConfigPart<Given> {
  /** The heading on the configuration page and in `--help`. */
  readonly group: string;
  readonly settings: Definitions;
  /** Commands that have no use for its settings. */
  readonly not?: readonly ConfigCommand[];
  readonly rules?: readonly CrossCheck<Given>[];
  /** Warnings about values that are valid but probably not intended. */
  readonly concerns?: readonly CrossCheck<Given>[];
  /** Warnings about other programs' variables that the worker does not support. */
  readonly variableProblems?: (env: Environment) => readonly Problem[];
  /** Images that the worker itself launches: the policy must trust them. */
  readonly images?: OwnImages<Given>;
  /** `used`: calls the worker's own cluster. `opened`: needs to know it only. */
  readonly cluster?: (given: Given) => "used" | "opened" | undefined;
  /** Returns this part of the worker's configuration. Must not throw. */
  readonly config?: (given: Given, loading: Loading) => object;
}

interface OwnImages<Given> {
  /** The settings that determine them. */
  readonly settings: readonly (keyof Given & string)[];
  readonly of: (given: Given) => readonly OwnImage[];
}

/** An image that the worker itself launches. */
export interface OwnImage {
  /** With `{action}` and optionally `{version}`. */
  readonly image: string;
  /** Completes "the image, which …". */
  readonly use: string;
}

/** Inputs from which a part builds its configuration. */
export interface Loading {
  readonly command: ConfigCommand;
  /** Absolute. */
  readonly stateDirectory: string;
  /** Whether some part calls the worker's own cluster. */
  readonly usesCluster: boolean;
  /** Whether some part needs the worker's own cluster, at least to know it. */
  readonly opensCluster: boolean;
  readonly read: ReadNamed;
}

/** Reads the file that a setting names. `use` may throw a `FileProblem`, which is reported. Undefined then and without a path. */
export type ReadNamed = <T>(
  name: string,
  path: string | undefined,
  use: (text: string, path: string) => T,
) => T | undefined;
