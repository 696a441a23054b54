import type { input } from "zod/mini";
import { BmcError } from "../contract/bmc-error.ts";
import { Connection as Schema } from "../contract/connection.ts";
import { valueProblems } from "../document/issue-problems.ts";

type Fields = input<typeof Schema>;

/** What `Connection.parse` accepts: text in place of each `Secret`. Only `host` is required, except with `ironic`. */
export type ConnectionInput = Fields &
  ({ readonly host: string } | { readonly ironic: NonNullable<Fields["ironic"]> });

/** How to reach one BMC: what `Connection.parse` returns. */
export type Connection = ReturnType<typeof Schema.parse>;

/**
 * How to reach one BMC.
 * @example
 * import { Connection } from "@pbnj-worker/bmc";
 *
 * const connection = Connection.parse({ host: "192.0.2.11", username: "admin", password: "calvin" });
 * console.log(connection.providers, connection.redfish.scheme, String(connection.password));
 * // [ 'redfish', 'ipmi' ] https [redacted]
 */
export const Connection = {
  /**
   * Checks the value, adds the defaults and wraps secrets: they cannot be printed from here on. Throws a `BmcError` of class `usage`
   * whose message has one line per problem.
   */
  parse(value: ConnectionInput): Connection {
    return Connection.parseUnknown(value);
  },

  /** Like `parse`, for a value that the compiler cannot check, such as JSON or variables. */
  parseUnknown(value: unknown): Connection {
    const parsed = Schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const lines = valueProblems(Schema, value, parsed.error.issues).map(
      ({ path, message }) => `${path.map(String).join(".") || "the connection"} ${message}`,
    );
    throw new BmcError("usage", lines.join("\n"));
  },
};
