import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { parseKg, readCredentials } from "../ipmi/commands/credentials.ts";

/** What only the program gets to read: neither its arguments nor its environment hold it. */
export interface IpmitoolSecrets {
  /** The first line of the file that `-f` names. */
  readonly password: string;
  /** The line that `-Y` asks for, on standard input where there is no terminal. */
  readonly kg?: Buffer;
}

/** Throws `usage` for what IPMI cannot carry and `unsupported` for what the program cannot read in a line. */
export function ipmitoolSecrets(connection: Connection): IpmitoolSecrets {
  const { kg } = connection.ipmitool;
  // Check IPMI's limits here: the program would cut longer secrets silently.
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
