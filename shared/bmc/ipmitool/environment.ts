import type { Connection } from "../../contract/connection.ts";
import { BmcError } from "../errors.ts";
import { readCredentials } from "../ipmi/credentials.ts";
import { parseKg } from "../ipmi/kg.ts";

/**
 * The child's whole environment: what it needs to be found, plain English messages, and the secrets, which
 * have no other way in that a list of processes does not show. Throws `usage` for what IPMI cannot carry and
 * `unsupported` for a BMC key that an environment cannot.
 */
export function ipmitoolEnvironment(
  connection: Connection,
  path: string | undefined,
): Readonly<Record<string, string>> {
  const { kg } = connection.ipmitool;
  // The same limits hold, and the program would only cut what is too long.
  readCredentials(connection, kg);
  return {
    ...(path === undefined ? {} : { PATH: path }),
    LC_ALL: "C",
    IPMITOOL_PASSWORD: connection.password?.reveal() ?? "",
    ...(kg === undefined ? {} : { IPMI_KGKEY: keyText(kg.reveal()) }),
  };
}

function keyText(kg: string): string {
  const bytes = parseKg(kg);
  const text = bytes.toString("utf8");
  if (!bytes.includes(0) && Buffer.from(text).equals(bytes)) return text;
  throw new BmcError(
    "unsupported",
    "the BMC key Kg has bytes that only ipmitool's arguments could carry, where anyone may read it: use the ipmi provider",
  );
}
