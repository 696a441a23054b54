import type { Problem } from "../../shared/document/problem.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import type { CrossCheck } from "./cross-check.ts";
import type { ConfigCommand, Definitions } from "./setting.ts";

/**
 * What a part of the worker states about its settings. `Given` has those that it reads: its own, and the few of others whose names
 * it knows. The table in `main/settings.ts` has all parts, and the compiler checks there that every name exists.
 */
export interface ConfigPart<Given> {
  /** The heading on the configuration page and in `--help`. */
  readonly group: string;
  readonly settings: Definitions;
  /** Commands that have no use for its settings. */
  readonly not?: readonly ConfigCommand[];
  readonly rules?: readonly CrossCheck<Given>[];
  /** What is valid but probably not intended. */
  readonly concerns?: readonly CrossCheck<Given>[];
  /** What other programs' variables ask for and the worker does not have. */
  readonly variableProblems?: (env: Environment) => readonly Problem[];
  /** Images that the worker itself launches: the policy must trust them. */
  readonly images?: OwnImages<Given>;
  /** `used`: calls the worker's own cluster. `opened`: needs to know it only. */
  readonly cluster?: (given: Given) => "used" | "opened" | undefined;
  /** What the worker's configuration has of it. Must not throw. */
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

/** What a part may use to make its configuration. */
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

/** Reads the file that a setting names. `use` may throw a `FileProblem`. Undefined without path, and with a problem, which is reported. */
export type ReadNamed = <T>(
  name: string,
  path: string | undefined,
  use: (text: string, path: string) => T,
) => T | undefined;
