import { createHmac, randomBytes } from "node:crypto";
import type { Connection } from "../shared/contract/connection.ts";
import type { ProviderName } from "../shared/contract/vocabulary.ts";
import { revealJson } from "../shared/secret.ts";
import type { Outcome } from "./action.ts";

/** Credentials that an action is about to be given. */
export interface Offer {
  readonly machine: string;
  /** The BMC: accounts are the BMC's, whatever the machine is called. */
  readonly lockKey: string;
  readonly connection: Connection;
}

interface Refusal {
  readonly lockKey: string;
  /** Of user, password and Kg. */
  readonly account: string;
  /** Of these and of the machine's entry with all that it says. */
  readonly entry: string;
  /** Through which it was refused: a BMC may have other users for each. Absent where that is not known. */
  readonly provider?: ProviderName;
  readonly at: Date;
}

/** The actions after which a BMC may take what it refused before. */
const CHANGES_ACCOUNTS = new Set(["create-user", "update-user", "delete-user"]);

/**
 * Remembers which credentials a BMC refused, because accounts lock: what was refused is not offered again until the
 * machine's credentials or its entry change, or an action changes the BMC's users. Keeps no credential, only a keyed
 * digest of it, and nothing beyond this process.
 */
export class AuthGate {
  readonly #key = randomBytes(32);
  /** The last refusal of each machine, by its name; one of what it no longer has is dropped. */
  readonly #refusals = new Map<string, Refusal>();

  /** Why these credentials are not to be tried; undefined when they are. */
  refusal(offer: Offer): string | undefined {
    const { machine, lockKey, connection } = offer;
    if (!locksAccounts(connection)) return undefined;
    const account = this.#accountOf(connection);
    const entry = this.#entryOf(connection);
    const own = this.#refusals.get(machine);
    if (own && (own.lockKey !== lockKey || own.entry !== entry)) this.#refusals.delete(machine);
    const found = [...this.#refusals.values()].find(
      (refused) =>
        refused.lockKey === lockKey && refused.account === account && isTried(refused.provider, connection),
    );
    if (!found) return undefined;
    // From now on this machine has been refused too, whatever becomes of the one that was asked first.
    this.#refusals.set(machine, { ...found, entry });
    const since = found.at.toISOString().replace(/\.\d+Z$/, "Z");
    const way = found.provider === undefined ? "" : ` via ${found.provider}`;
    return (
      `machine ${machine}: the BMC refused its credentials${way} at ${since}, and they are not offered again, because accounts lock: ` +
      "correct them where the inventory has them, the next action reads them"
    );
  }

  /** Takes note of how an action that had these credentials ended. */
  learn(offer: Offer, outcome: Outcome): void {
    const { machine, lockKey, connection } = offer;
    const { result } = outcome;
    if (outcome.ok && result?.changed !== false && CHANGES_ACCOUNTS.has(result?.action ?? "")) {
      for (const [name, refused] of this.#refusals) {
        if (refused.lockKey === lockKey) this.#refusals.delete(name);
      }
    }
    if (!isRefusedLogin(outcome) || !locksAccounts(connection)) return;
    // A login that failed is nobody's in the result; with a single provider there is no doubt.
    const [only, ...others] = connection.providers;
    const provider = result?.provider ?? (others.length === 0 ? only : undefined);
    this.#refusals.set(machine, {
      lockKey,
      account: this.#accountOf(connection),
      entry: this.#entryOf(connection),
      ...(provider === undefined ? {} : { provider }),
      at: outcome.stoppedAt,
    });
  }

  #accountOf({ username, password, ipmi, ipmitool }: Connection): string {
    return this.#digest({ username, password, ipmi: ipmi.kg, ipmitool: ipmitool.kg });
  }

  /** What an operator corrects may be something else than the password: the privilege, the provider, the host. */
  #entryOf({ hint: _hint, machine: _machine, ...entry }: Connection): string {
    return this.#digest(entry);
  }

  #digest(value: unknown): string {
    return createHmac("sha256", this.#key).update(revealJson(value)).digest("base64");
  }
}

/** A webhook checks a signature: there is no account that it could lock. */
function locksAccounts({ rpc }: Connection): boolean {
  return rpc === undefined;
}

/**
 * Whether a BMC refused who asked. What ended before it ran, as by a registry that refuses the image, asked none. An
 * action that does not say what was refused, such as an image of somebody else, is taken at its worst.
 */
function isRefusedLogin({ class: errorClass, exitCode, result }: Outcome): boolean {
  return errorClass === "auth" && exitCode !== undefined && result?.refused !== "right";
}

const IPMI: ReadonlySet<ProviderName> = new Set(["ipmi", "ipmitool"]);

/** Whether the connection would ask by that provider, or by another one that has the same users. */
function isTried(provider: ProviderName | undefined, { providers }: Connection): boolean {
  if (provider === undefined) return true;
  return providers.some((name) => name === provider || (IPMI.has(name) && IPMI.has(provider)));
}
