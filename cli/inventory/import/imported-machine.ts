import type { Problem } from "../../../shared/document/problem.ts";
import type { Secret } from "../../../shared/secret.ts";

/** A machine of another format. */
export interface ImportedMachine {
  /** Where it is in the input, for messages: `machines.csv:3`, `machine abc123`. */
  readonly source: string;
  readonly name: string;
  /** The inventory's entry without name and credentials; undefined keys count as absent. */
  readonly entry: Readonly<Record<string, unknown>>;
  readonly username?: string;
  readonly password?: Secret;
  /** The BMC key Kg of IPMI. */
  readonly kg?: Secret;
}

/** A file of one secret, below the folder of its machine. */
export interface SecretFile {
  readonly machine: string;
  readonly file: "password" | "kg";
  readonly secret: Secret;
}

export interface Imported {
  readonly machines: readonly ImportedMachine[];
  /** The common values of all machines, including credentials, in the inventory's form. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** The secret of these defaults. */
  readonly shared?: SecretFile;
  /** What the inventory cannot express. */
  readonly skipped: readonly Problem[];
  /** With any of these, nothing is written. */
  readonly problems: readonly Problem[];
  /** What else to say. */
  readonly notes: readonly string[];
}

/** A document that is not in the format. */
export function refusedInput(source: string, message: string): Imported {
  return { machines: [], skipped: [], problems: [{ source, message }], notes: [] };
}
