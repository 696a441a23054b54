import type { BmcClient } from "../../shared/bmc/client.ts";
import { type Finding, failed, notTried, unsupported } from "../../shared/bmc/operations/finding.ts";
import type { SessionDescription } from "../../shared/bmc/operations/provider.ts";
import type { Clock } from "../../shared/clock.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { ErrorClass } from "../../shared/contract/error-class.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import { CHECK_NAMES, type CheckName, type CheckRow, type ClockLimit, checkNamed } from "./checks.ts";

export interface ProviderChecks {
  readonly provider: ProviderName;
  readonly rows: readonly CheckRow[];
  /** The class of the error because of which some checks did not run; undefined if all ran. */
  readonly endedBy: ErrorClass | undefined;
  readonly durationMs: number;
  readonly roundTrips: number;
}

export interface CheckOptions {
  readonly clock: Clock;
  readonly maxClockSkew: ClockLimit;
  /** The checks for which a warning counts as a failure. */
  readonly required: readonly CheckName[];
}

/** The classes of errors after which every call fails: the BMC is gone, or the user is locked out. */
const ENDING: ReadonlySet<ErrorClass | undefined> = new Set(["unreachable", "timeout", "auth", "tls"]);

/** Runs all checks through one provider, then logs out. Rejects only when `signal` aborts. */
export async function checkProvider(
  provider: ProviderName,
  client: BmcClient,
  options: CheckOptions,
  signal: AbortSignal,
): Promise<ProviderChecks> {
  const startedMs = options.clock.monotonicMs();
  const checks = new ProviderCheck(provider, client, options, signal);
  try {
    await checks.runAll();
  } finally {
    await client.close();
  }
  return {
    provider,
    rows: checks.rows,
    endedBy: checks.endedBy,
    durationMs: Math.round(options.clock.monotonicMs() - startedMs),
    roundTrips: client.roundTrips,
  };
}

const NOT_TRIED: Readonly<Partial<Record<ErrorClass, string>>> = {
  auth: "the BMC refuses this user",
  tls: "TLS with the BMC fails",
};

class ProviderCheck {
  readonly rows: CheckRow[] = [];
  /** Why the remaining checks do not run. */
  endedBy: ErrorClass | undefined;
  readonly #provider: ProviderName;
  readonly #client: BmcClient;
  readonly #options: CheckOptions;
  readonly #signal: AbortSignal;
  #ending: ErrorClass | undefined;

  constructor(provider: ProviderName, client: BmcClient, options: CheckOptions, signal: AbortSignal) {
    this.#provider = provider;
    this.#client = client;
    this.#options = options;
    this.#signal = signal;
  }

  async runAll(): Promise<void> {
    const session = await this.#logIn();
    if (!session) return;
    for (const check of CHECK_NAMES) if (check !== "login") await this.#run(check, session);
  }

  async #logIn(): Promise<SessionDescription | undefined> {
    let session: SessionDescription | undefined;
    const before = this.#client.roundTrips;
    await this.#ask("login", async () => {
      session = await this.#client.open(this.#signal);
      const trips = this.#client.roundTrips - before;
      return { state: "ok", detail: `${trips} ${trips === 1 ? "round trip" : "round trips"}` };
    });
    if (!session) this.endedBy = this.rows[0]?.class;
    return session;
  }

  async #run(check: Exclude<CheckName, "login">, session: SessionDescription): Promise<void> {
    const { capability, run } = checkNamed(check);
    if (capability !== undefined && !session.capabilities.includes(capability)) {
      this.#add(check, unsupported(`not part of the provider ${this.#provider}`));
      return;
    }
    if (this.endedBy) {
      this.#add(check, notTried(this.endedBy, NOT_TRIED[this.endedBy] ?? "the BMC has stopped answering"));
      return;
    }
    const { clock, maxClockSkew } = this.#options;
    const context = { client: this.#client, session, clock, maxClockSkew, signal: this.#signal };
    await this.#ask(check, () => run(context));
  }

  /** Asks the BMC. One error of an ending class may be about this call only; two in a row are about the BMC or the user. */
  async #ask(check: CheckName, ask: () => Promise<Finding | undefined>): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const tripsBefore = this.#client.roundTrips;
    const finding = await this.#settle(ask);
    if (!finding) return;
    const durationMs = Math.round(clock.monotonicMs() - startedMs);
    const cost = { durationMs, roundTrips: this.#client.roundTrips - tripsBefore };
    this.#add(check, finding, finding.state === "not tried" ? {} : cost);
    const ending = finding.state === "failed" && ENDING.has(finding.class) ? finding.class : undefined;
    if (ending && this.#ending) this.endedBy = ending;
    this.#ending = ending;
  }

  async #settle(ask: () => Promise<Finding | undefined>): Promise<Finding | undefined> {
    try {
      return await ask();
    } catch (thrown) {
      this.#signal.throwIfAborted();
      const error = BmcError.from(thrown);
      const prefix = `${this.#provider}: `;
      const detail = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
      return error.class === "unsupported" ? unsupported(detail) : failed(error.class, detail);
    }
  }

  #add(check: CheckName, finding: Finding, cost: Pick<CheckRow, "durationMs" | "roundTrips"> = {}): void {
    const isFailure = finding.state === "warning" && this.#options.required.includes(check);
    const state = isFailure ? "failed" : finding.state;
    this.rows.push({ provider: this.#provider, check, ...finding, state, ...cost });
  }
}

/**
 * Returns the row of a provider that is not tried, because the BMC refused the password or its TLS failed with another
 * provider.
 */
export function skipProvider(
  provider: ProviderName,
  earlier: Pick<ProviderChecks, "provider" | "endedBy">,
): ProviderChecks {
  const finding =
    earlier.endedBy === "tls"
      ? notTried(
          "tls",
          `TLS with ${earlier.provider} failed, and tls.fallback does not allow another provider`,
        )
      : notTried("auth", `${earlier.provider} refused the credentials, and refusals lock accounts`);
  const rows = [{ provider, check: "login" as const, ...finding }];
  return { provider, rows, endedBy: undefined, durationMs: 0, roundTrips: 0 };
}
