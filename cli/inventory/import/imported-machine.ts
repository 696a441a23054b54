import type { Problem } from "../../../shared/document/problem.ts";
import type { Secret } from "../../../shared/secret.ts";

/** A machine read from another format. */
export interface ImportedMachine {
  /** The place in the input for messages: `machines.csv:3`, `machine abc123`. */
  readonly source: string;
  readonly name: string;
  /** The inventory's entry without name and credentials; undefined keys count as absent. */
  readonly entry: Readonly<Record<string, unknown>>;
  readonly username?: string;
  readonly password?: Secret;
  /** The BMC key Kg of IPMI. */
  readonly kg?: Secret;
}

/** A file with one secret, inside the folder of its machine. */
export interface SecretFile {
  readonly machine: string;
  readonly file: "password" | "kg";
  readonly secret: Secret;
}

export interface Imported {
  readonly machines: readonly ImportedMachine[];
  /** The values that all machines have in common, including credentials, in the inventory's form. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** The secret that these defaults refer to. */
  readonly shared?: SecretFile;
  /** Problems with parts that the inventory cannot express and that were left out. */
  readonly skipped: readonly Problem[];
  /** Problems that prevent the inventory from being written. */
  readonly problems: readonly Problem[];
  /** Further messages for the user. */
  readonly notes: readonly string[];
}

/** Returns the result for a document that is not in the expected format. */
export function refusedInput(source: string, message: string): Imported {
  return { machines: [], skipped: [], problems: [{ source, message }], notes: [] };
}
