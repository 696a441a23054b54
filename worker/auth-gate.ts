import { createHmac, randomBytes } from "node:crypto";
import type { Connection } from "../shared/contract/connection.ts";
import { revealJson } from "../shared/secret.ts";

/**
 * Remembers which credentials a machine's BMC refused, because accounts lock: what was refused is not offered
 * again until it changes. Keeps no credential, only a keyed digest of it, and nothing beyond this process.
 */
export class AuthGate {
  readonly #key = randomBytes(32);
  readonly #refused = new Map<string, { readonly digest: string; readonly at: Date }>();

  /** Why these credentials are not to be tried; undefined when they are. */
  refusal(machine: string, connection: Connection): string | undefined {
    const refused = this.#refused.get(machine);
    if (refused?.digest !== this.#digest(connection)) return undefined;
    const since = refused.at.toISOString().replace(/\.\d+Z$/, "Z");
    return `the BMC refused these credentials at ${since}: they are not tried again until they change`;
  }

  refused(machine: string, connection: Connection, at: Date): void {
    this.#refused.set(machine, { digest: this.#digest(connection), at });
  }

  accepted(machine: string): void {
    this.#refused.delete(machine);
  }

  /** Of all that proves who is there: user, password, Kg, whom a request is signed for. */
  #digest({ username, password, ipmi, ipmitool, rpc }: Connection): string {
    const proof = { username, password, ipmi: ipmi.kg, ipmitool: ipmitool.kg, rpc: rpc?.signature.secrets };
    return createHmac("sha256", this.#key).update(revealJson(proof)).digest("base64");
  }
}
