import { randomUUID } from "node:crypto";
import { EVERYTHING, type RbacRule } from "../api/rbac.ts";

export interface User {
  readonly name: string;
  readonly rules: readonly RbacRule[];
  /** One of the cluster's own: uncounted, and spared by faults. */
  readonly controlPlane: boolean;
}

/** Who may come in, by bearer token. */
export class Users {
  readonly #byToken = new Map<string, User>();

  /** Gives the new user's token. */
  add(name: string, rules: readonly RbacRule[] = EVERYTHING, controlPlane = false): string {
    const token = `token-${randomUUID()}`;
    this.#byToken.set(token, { name, rules, controlPlane });
    return token;
  }

  /** From the value of an Authorization header. */
  find(authorization: string | undefined): User | undefined {
    const [, token = ""] = /^Bearer (.+)$/i.exec(authorization ?? "") ?? [];
    return this.#byToken.get(token);
  }

  /** The token is worth nothing from now on. */
  remove(token: string): void {
    this.#byToken.delete(token);
  }
}
