import { createHmac, randomBytes } from "node:crypto";
import { type Clock, systemClock } from "../../shared/clock.ts";
import type { Connection } from "../../shared/contract/connection.ts";
import type { SessionProvider } from "../../shared/contract/vocabulary.ts";
import { revealJson } from "../../shared/secret.ts";
import type { Outcome } from "../core/action/action.ts";
import { lockKeyOf } from "./lock-key.ts";

export interface LoginAttempt {
  readonly machine: string;
  /** Identifies the BMC that the accounts belong to. */
  readonly lockKey: string;
  readonly connection: Connection;
}

interface BmcAccount {
  readonly lockKey: string;
  readonly account: string;
}

interface Refusal extends BmcAccount {
  readonly entry: string;
  /** The provider that was refused, if known: a BMC may have different users per provider. */
  readonly provider?: SessionProvider | undefined;
  readonly at: Date;
  readonly times: number;
  readonly dueMs: number;
}

const MINUTE_MS = 60_000;
/**
 * Pause before refused credentials are tried again. BMCs lock an account or an address after several failures within some
 * time: iDRAC 8 after three within ten minutes (User's Guide, "Invalid password credentials"), pam_faillock, which OpenBMC
 * uses, after three within fifteen (faillock.conf(5)), Lenovo after five. Attempts further apart never add up.
 */
const FIRST_RETRY_MS = 15 * MINUTE_MS;
const LATER_RETRY_MS = 60 * MINUTE_MS;
/** Minimum time between retries on demand, because a program may write the inventory every minute. */
const DEMAND_MS = 60 * MINUTE_MS;

/**
 * How many different credentials, from all sources, one BMC may refuse within `GUESSES_MS`. Accounts lock, and a tenant must
 * not be able to guess another tenant's password with its objects.
 */
const MOST_GUESSES = 3;
const GUESSES_MS = 15 * MINUTE_MS;
const MOST_BMCS = 20_000;

/** Actions after which a BMC may accept credentials that it refused before. */
const CHANGES_ACCOUNTS = new Set(["create-user", "update-user", "delete-user"]);

/**
 * Remembers which credentials a BMC refused, because accounts lock. Refused credentials are tried again when the
 * credentials or the machine's entry change, when an action changes the BMC's users, on demand, and otherwise by one
 * action after 15 minutes and one per hour from then on. Keeps only keyed digests, in memory.
 */
export class AuthGate {
  readonly #key = randomBytes(32);
  readonly #refusals = new Map<string, Refusal>();
  /** Credentials that a BMC refused, with the time, by BMC. */
  readonly #guesses = new Map<string, Map<string, number>>();
  /** Credentials that a BMC accepted, by BMC. They remain usable even after wrong guesses of others. */
  readonly #accepted = new Map<string, Map<string, number>>();
  readonly #clock: Clock;
  #demandedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Allows one retry of each refused credential. Within an hour after the last call it does nothing and returns false. */
  retryNow(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#refusals.size === 0 || nowMs - this.#demandedMs < DEMAND_MS) return false;
    this.#demandedMs = nowMs;
    this.#guesses.clear();
    for (const [name, refused] of this.#refusals) this.#refusals.set(name, { ...refused, dueMs: nowMs });
    return true;
  }

  /** Why the credentials must not be tried now; undefined if they may be. */
  refusal(attempt: LoginAttempt): string | undefined {
    const { machine, lockKey, connection } = attempt;
    if (this.#refusals.size + this.#guesses.size === 0 || !locksAccounts(connection)) return undefined;
    const account = this.#accountOf(connection);
    for (const service of servicesOf(lockKey, connection)) {
      const guessed = this.#guessed(machine, service, account);
      if (guessed !== undefined) return guessed;
    }
    const entry = this.#entryOf(connection);
    const own = this.#refusals.get(machine);
    if (own && (own.lockKey !== lockKey || own.entry !== entry)) this.#refusals.delete(machine);
    const found = this.#latest({ lockKey, account }, (provider) => isTried(provider, connection));
    if (!found) return undefined;
    // From now on, this machine counts as refused too, even if the other one is forgotten.
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

  /** Why no new credentials are offered to a BMC that has refused several; undefined if they may be. */
  #guessed(machine: string, bmc: string, account: string): string | undefined {
    const refused = this.#guesses.get(bmc);
    if (!refused || refused.has(account) || this.#accepted.get(bmc)?.has(account)) return undefined;
    const nowMs = this.#clock.monotonicMs();
    const times = [...refused.values()].filter((atMs) => nowMs - atMs < GUESSES_MS).toSorted((a, b) => a - b);
    const [firstMs = 0] = times;
    if (times.length < MOST_GUESSES) return undefined;
    const until = timeText(new Date(this.#clock.now() + firstMs + GUESSES_MS - nowMs));
    return (
      `machine ${machine}: its BMC refused ${times.length} different credentials within ${GUESSES_MS / MINUTE_MS} minutes; ` +
      `no others are offered before ${until}`
    );
  }

  /** Remembers credentials per BMC. As many as may be guessed are enough: older ones make no difference. */
  #note(
    noted: Map<string, Map<string, number>>,
    { lockKey, connection }: LoginAttempt,
    account: string,
  ): void {
    for (const service of servicesOf(lockKey, connection)) {
      const accounts = noted.get(service) ?? new Map<string, number>();
      putLast(accounts, account, this.#clock.monotonicMs(), MOST_GUESSES);
      putLast(noted, service, accounts, MOST_BMCS);
    }
  }

  /** The account's refusal with the latest retry time. It may have been refused under several machine names. */
  #latest(
    { lockKey, account }: BmcAccount,
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
    const account = this.#accountOf(connection);
    if (outcome.ok && result?.provider !== undefined) this.#note(this.#accepted, attempt, account);
    if (outcome.ok) this.#forget({ lockKey, account }, result?.provider);
    if (!isRefusedLogin(outcome) || !locksAccounts(connection)) return;
    this.#note(this.#guesses, attempt, account);
    // The result names no provider for a failed login. A single provider is certain.
    const [only, ...others] = connection.providers;
    const provider = result?.provider ?? (others.length === 0 ? only : undefined);
    const before = this.#latest({ lockKey, account }, (other) => isSameUsers(other, provider));
    const times = (before?.times ?? 0) + 1;
    this.#refusals.set(machine, {
      lockKey,
      account,
      entry: this.#entryOf(connection),
      provider,
      at: outcome.stoppedAt,
      times,
      dueMs: this.#clock.monotonicMs() + (times === 1 ? FIRST_RETRY_MS : LATER_RETRY_MS),
    });
  }

  /** Forgets refusals of accepted credentials, under all machine names. */
  #forget(accepted: BmcAccount, provider: SessionProvider | undefined): void {
    for (const [name, { lockKey, account, provider: refused }] of this.#refusals) {
      const isSame = lockKey === accepted.lockKey && account === accepted.account;
      if (isSame && provider !== undefined && isSameUsers(refused, provider)) this.#refusals.delete(name);
    }
  }

  #accountOf({ username, password, ipmi, ipmitool }: Connection): string {
    return this.#digest({ username, password, ipmi: ipmi.kg, ipmitool: ipmitool.kg });
  }

  /**
   * The digest of a whole entry, because the operator may correct something other than the password: the privilege, the
   * provider or the host.
   */
  #entryOf({ hint: _hint, machine: _machine, ...entry }: Connection): string {
    return this.#digest(entry);
  }

  #digest(value: unknown): string {
    return createHmac("sha256", this.#key).update(revealJson(value)).digest("base64");
  }
}

/**
 * The services that a connection may log in to. A BMC's providers share their accounts, and one host may serve several BMCs
 * on unusual ports. An unused port must not make it count as another BMC.
 */
function servicesOf(lockKey: string, connection: Connection): readonly string[] {
  const { homeassistant, ironic, providers, redfish, ipmi, ipmitool, amt } = connection;
  if (homeassistant || ironic) return [lockKey];
  const [host = lockKey] = lockKey.split(" ", 1);
  const ports = { redfish: redfish.port, ipmi: ipmi.port, ipmitool: ipmitool.port, amt: amt.port };
  const services = providers.flatMap((provider) =>
    provider in ports ? lockKeyOf(host, { [familyOf(provider)]: ports[provider as keyof typeof ports] }) : [],
  );
  return [...new Set(services)];
}

function familyOf(provider: SessionProvider): SessionProvider {
  return provider === "ipmitool" ? "ipmi" : provider;
}

/** Puts an entry last and drops the first ones beyond `most`. */
function putLast<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  for (const first of map.keys()) {
    if (map.size <= most) return;
    map.delete(first);
  }
}

/** Whether failed logins lock an account. A webhook checks a signature and has none. */
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

/** Whether the connection uses the provider, or another one with the same users. */
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
