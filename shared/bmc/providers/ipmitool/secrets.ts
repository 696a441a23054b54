import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { parseKg, readCredentials } from "../ipmi/commands/credentials.ts";

/** Secrets that only the program can read: neither its arguments nor its environment contain them. */
export interface IpmitoolSecrets {
  /** The first line of the file for `-f`. */
  readonly password: string;
  /** The line for `-Y`, which reads standard input if there is no terminal. */
  readonly kg?: Buffer;
}

/**
 * Prepares the secrets. Throws `usage` for values that IPMI cannot carry, and `unsupported` for those that the program
 * cannot read from a line.
 */
export function ipmitoolSecrets(connection: Connection): IpmitoolSecrets {
  const { kg } = connection.ipmitool;
  // IPMI's limits are checked here, because the program silently truncates longer secrets.
  const { password } = readCredentials(connection, kg);
  refuseEnds("password", password, /[\t\r\n]/);
  if (kg === undefined) return { password: password.toString() };
  const key = parseKg(kg.reveal());
  refuseEnds("BMC key Kg", key, /[\0\n]/);
  return { password: password.toString(), kg: key };
}

function refuseEnds(what: string, bytes: Buffer, ends: RegExp): void {
  if (!ends.test(bytes.toString("latin1"))) return;
  throw new BmcError(
    "unsupported",
    `the ${what} has a character at which ipmitool stops reading it: use the ipmi provider`,
  );
}
