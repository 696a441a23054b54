import { createHmac, randomBytes } from "node:crypto";
import { type Clock, systemClock } from "../../shared/clock.ts";
import type { Connection } from "../../shared/contract/connection.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import { defined } from "../../shared/defined.ts";
import { revealJson } from "../../shared/secret.ts";
import type { Outcome } from "../action/action.ts";

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
  /** How often in a row, and when it may be offered again, by the monotonic clock. */
  readonly times: number;
  readonly dueMs: number;
}

const MINUTE_MS = 60_000;
/**
 * BMCs lock an account, or an address, after several failures within some time: iDRAC 8 after three within ten minutes
 * (User's Guide, "Invalid password credentials"), pam_faillock, which OpenBMC uses, after three within fifteen
 * (faillock.conf(5)), Lenovo after five. Offers that are further apart than that never add up.
 */
const FIRST_RETRY_MS = 15 * MINUTE_MS;
const LATER_RETRY_MS = 60 * MINUTE_MS;
/** On demand, too: what touches the inventory may be a program that writes it every minute. */
const DEMAND_MS = 60 * MINUTE_MS;

/** The actions after which a BMC may take what it refused before. */
const CHANGES_ACCOUNTS = new Set(["create-user", "update-user", "delete-user"]);

/**
 * Remembers which credentials a BMC refused, because accounts lock: what was refused is offered again when the
 * machine's credentials or its entry change, when an action changes the BMC's users, on demand, and else to one action after
 * 15 minutes and to one an hour from then on. Keeps no credential, only a keyed digest of it, and nothing beyond this process.
 */
export class AuthGate {
  readonly #key = randomBytes(32);
  /** The last refusal of each machine, by its name; one of what it no longer has is dropped. */
  readonly #refusals = new Map<string, Refusal>();
  readonly #clock: Pick<Clock, "now" | "monotonicMs">;
  #demandedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "now" | "monotonicMs"> = systemClock) {
    this.#clock = clock;
  }

  /** Lets each refused credential be offered once more. Does nothing, and returns false, within an hour after the last time. */
  retryNow(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#refusals.size === 0 || nowMs - this.#demandedMs < DEMAND_MS) return false;
    this.#demandedMs = nowMs;
    for (const [name, refused] of this.#refusals) this.#refusals.set(name, { ...refused, dueMs: nowMs });
    return true;
  }

  /** Why these credentials are not to be tried; undefined when they are. */
  refusal(offer: Offer): string | undefined {
    const { machine, lockKey, connection } = offer;
    if (!locksAccounts(connection)) return undefined;
    const account = this.#accountOf(connection);
    const entry = this.#entryOf(connection);
    const own = this.#refusals.get(machine);
    if (own && (own.lockKey !== lockKey || own.entry !== entry)) this.#refusals.delete(machine);
    const found = this.#latest({ lockKey, account }, (provider) => isTried(provider, connection));
    if (!found) return undefined;
    // From now on this machine has been refused too, whatever becomes of the one that was asked first.
    this.#refusals.set(machine, { ...found, entry });
    const waitMs = found.dueMs - this.#clock.monotonicMs();
    if (waitMs <= 0) return undefined;
    const way = found.provider === undefined ? "" : ` via ${found.provider}`;
    return (
      `machine ${machine}: the BMC refused its credentials${way} at ${timeText(found.at)}; because accounts lock, they are ` +
      `not offered again before ${timeText(new Date(this.#clock.now() + waitMs))}. To retry at once, correct them where ` +
      "the inventory has them, change the machine's entry or touch the inventory file"
    );
  }

  /** Of one account's refusals the one that ends last: an account has been refused under several names of its machine. */
  #latest(
    { lockKey, account }: Pick<Refusal, "lockKey" | "account">,
    counts: (provider: ProviderName | undefined) => boolean,
  ): Refusal | undefined {
    return [...this.#refusals.values()]
      .filter((one) => one.lockKey === lockKey && one.account === account && counts(one.provider))
      .toSorted((a, b) => b.dueMs - a.dueMs)[0];
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
    const account = this.#accountOf(connection);
    if (outcome.ok) this.#forget({ lockKey, account }, result?.provider);
    if (!isRefusedLogin(outcome) || !locksAccounts(connection)) return;
    // A login that failed is nobody's in the result; with a single provider there is no doubt.
    const [only, ...others] = connection.providers;
    const provider = result?.provider ?? (others.length === 0 ? only : undefined);
    const before = this.#latest({ lockKey, account }, (other) => isSameUsers(other, provider));
    const times = (before?.times ?? 0) + 1;
    this.#refusals.set(machine, {
      lockKey,
      account,
      entry: this.#entryOf(connection),
      ...defined({ provider }),
      at: outcome.stoppedAt,
      times,
      dueMs: this.#clock.monotonicMs() + (times === 1 ? FIRST_RETRY_MS : LATER_RETRY_MS),
    });
  }

  /** What has been accepted is not refused any more, under no name. */
  #forget(accepted: Pick<Refusal, "lockKey" | "account">, provider: ProviderName | undefined): void {
    for (const [name, { lockKey, account, provider: refused }] of this.#refusals) {
      const isSame = lockKey === accepted.lockKey && account === accepted.account;
      if (isSame && provider !== undefined && isSameUsers(refused, provider)) this.#refusals.delete(name);
    }
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
  return providers.some((name) => isSameUsers(name, provider));
}

/** Whether a BMC has the same users for both; one that is not known may be any. */
function isSameUsers(one: ProviderName | undefined, other: ProviderName | undefined): boolean {
  if (one === undefined || other === undefined || one === other) return true;
  return IPMI.has(one) && IPMI.has(other);
}

function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}
