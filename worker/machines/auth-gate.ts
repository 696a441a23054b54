import { createHmac, randomBytes } from "node:crypto";
import { type Clock, systemClock } from "../../shared/clock.ts";
import type { Connection } from "../../shared/contract/connection.ts";
import type { SessionProvider } from "../../shared/contract/vocabulary.ts";
import { defined } from "../../shared/defined.ts";
import { revealJson } from "../../shared/secret.ts";
import type { Outcome } from "../core/action/action.ts";

export interface LoginAttempt {
  readonly machine: string;
  /** Identifies the BMC, to which the accounts belong. */
  readonly lockKey: string;
  readonly connection: Connection;
}

interface Refusal {
  readonly lockKey: string;
  readonly account: string;
  readonly entry: string;
  /** Which provider was refused, if known: a BMC may have different users per provider. */
  readonly provider?: SessionProvider;
  readonly at: Date;
  readonly times: number;
  readonly dueMs: number;
}

const MINUTE_MS = 60_000;
/**
 * BMCs lock an account or an address after several failures within some time: iDRAC 8 after three within ten minutes
 * (User's Guide, "Invalid password credentials"), pam_faillock, which OpenBMC uses, after three within fifteen
 * (faillock.conf(5)), Lenovo after five. Attempts further apart never add up.
 */
const FIRST_RETRY_MS = 15 * MINUTE_MS;
const LATER_RETRY_MS = 60 * MINUTE_MS;
/** Also limits retries on demand, because a program may write the inventory every minute. */
const DEMAND_MS = 60 * MINUTE_MS;

/** After these actions a BMC may accept what it refused before. */
const CHANGES_ACCOUNTS = new Set(["create-user", "update-user", "delete-user"]);

/**
 * Remembers which credentials a BMC refused, because accounts lock. Refused credentials are tried again when the
 * credentials or the machine's entry change, when an action changes the BMC's users, on demand, and otherwise by one
 * action after 15 minutes and one per hour from then on. Keeps only keyed digests, in memory.
 */
export class AuthGate {
  readonly #key = randomBytes(32);
  readonly #refusals = new Map<string, Refusal>();
  readonly #clock: Pick<Clock, "now" | "monotonicMs">;
  #demandedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "now" | "monotonicMs"> = systemClock) {
    this.#clock = clock;
  }

  /** Allows one retry of each refused credential. Does nothing, and returns false, within an hour after the last call. */
  retryNow(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#refusals.size === 0 || nowMs - this.#demandedMs < DEMAND_MS) return false;
    this.#demandedMs = nowMs;
    for (const [name, refused] of this.#refusals) this.#refusals.set(name, { ...refused, dueMs: nowMs });
    return true;
  }

  /** Why the credentials must not be tried now; undefined if they may be. */
  refusal(attempt: LoginAttempt): string | undefined {
    const { machine, lockKey, connection } = attempt;
    if (this.#refusals.size === 0 || !locksAccounts(connection)) return undefined;
    const account = this.#accountOf(connection);
    const entry = this.#entryOf(connection);
    const own = this.#refusals.get(machine);
    if (own && (own.lockKey !== lockKey || own.entry !== entry)) this.#refusals.delete(machine);
    const found = this.#latest({ lockKey, account }, (provider) => isTried(provider, connection));
    if (!found) return undefined;
    // This machine counts as refused too from now on, even if the other one is forgotten.
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

  /** The account's refusal with the latest retry time: it may have been refused under several machine names. */
  #latest(
    { lockKey, account }: Pick<Refusal, "lockKey" | "account">,
    counts: (provider: SessionProvider | undefined) => boolean,
  ): Refusal | undefined {
    return [...this.#refusals.values()]
      .filter((one) => one.lockKey === lockKey && one.account === account && counts(one.provider))
      .toSorted((a, b) => b.dueMs - a.dueMs)[0];
  }

  learn(attempt: LoginAttempt, outcome: Outcome): void {
    const { machine, lockKey, connection } = attempt;
    const { result } = outcome;
    if (outcome.ok && result?.changed !== false && CHANGES_ACCOUNTS.has(result?.action ?? "")) {
      for (const [name, refused] of this.#refusals) {
        if (refused.lockKey === lockKey) this.#refusals.delete(name);
      }
    }
    // The usual case costs nothing.
    if (outcome.ok && this.#refusals.size === 0) return;
    const account = this.#accountOf(connection);
    if (outcome.ok) this.#forget({ lockKey, account }, result?.provider);
    if (!isRefusedLogin(outcome) || !locksAccounts(connection)) return;
    // The result names no provider for a failed login; with a single provider there is no doubt.
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

  /** Forgets refusals of accepted credentials, under all machine names. */
  #forget(accepted: Pick<Refusal, "lockKey" | "account">, provider: SessionProvider | undefined): void {
    for (const [name, { lockKey, account, provider: refused }] of this.#refusals) {
      const isSame = lockKey === accepted.lockKey && account === accepted.account;
      if (isSame && provider !== undefined && isSameUsers(refused, provider)) this.#refusals.delete(name);
    }
  }

  #accountOf({ username, password, ipmi, ipmitool }: Connection): string {
    return this.#digest({ username, password, ipmi: ipmi.kg, ipmitool: ipmitool.kg });
  }

  /** The operator may correct something other than the password: the privilege, the provider, the host. */
  #entryOf({ hint: _hint, machine: _machine, ...entry }: Connection): string {
    return this.#digest(entry);
  }

  #digest(value: unknown): string {
    return createHmac("sha256", this.#key).update(revealJson(value)).digest("base64");
  }
}

/** A webhook checks a signature and has no account to lock. */
function locksAccounts({ rpc }: Connection): boolean {
  return rpc === undefined;
}

/**
 * Whether a BMC refused a login. An action that never ran, for example because of its image, attempted none. An action
 * that does not say what was refused is assumed to have failed its login.
 */
function isRefusedLogin({ class: errorClass, exitCode, result }: Outcome): boolean {
  return errorClass === "auth" && exitCode !== undefined && result?.refused !== "right";
}

const IPMI: ReadonlySet<SessionProvider> = new Set(["ipmi", "ipmitool"]);

/** Whether the connection uses that provider, or another one with the same users. */
function isTried(provider: SessionProvider | undefined, { providers }: Connection): boolean {
  if (provider === undefined) return true;
  return providers.some((name) => isSameUsers(name, provider));
}

/** Whether a BMC has the same users for both providers; an unknown provider may be any. */
function isSameUsers(one: SessionProvider | undefined, other: SessionProvider | undefined): boolean {
  if (one === undefined || other === undefined || one === other) return true;
  return IPMI.has(one) && IPMI.has(other);
}

function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}
