import type { Session } from "../../shared/bmc/operations/provider.ts";
import { loadProvider } from "../../shared/bmc/providers/load.ts";
import type { Clock } from "../../shared/clock.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { Connection } from "../../shared/contract/connection.ts";
import { defined } from "../../shared/defined.ts";
import { silentLogger } from "../../shared/logger.ts";
import type { ProgressLines } from "../../shared/progress-lines.ts";
import { withTimeout } from "../../shared/timeout.ts";
import { mapLimited } from "../../worker/doctor/map-limited.ts";
import type { FoundBmc } from "./bmc.ts";
import type { Candidate } from "./candidates.ts";
import { brief } from "./probes.ts";

type LoginProvider = "redfish" | "ipmi" | "amt";

/** What the BMC reports about its machine, shortened and checked. */
export interface FoundMachine {
  readonly vendor?: string;
  readonly model?: string;
  readonly serial?: string;
  readonly macs: readonly string[];
}

export type Login =
  /** The credentials were accepted. `problem` says why the machine could not be read. */
  | {
      readonly state: "accepted";
      readonly provider: LoginProvider;
      readonly candidate: Candidate;
      readonly machine?: FoundMachine;
      readonly problem?: string;
    }
  | { readonly state: "refused"; readonly provider: LoginProvider; readonly attempts: number }
  | { readonly state: "failed"; readonly provider: LoginProvider; readonly problem: string }
  /** Nothing was sent to this address. `sameAs` is another address of the same BMC. */
  | { readonly state: "skipped"; readonly problem: string; readonly sameAs?: string };

export interface LoginOptions {
  /** The number of credentials to try per BMC. */
  readonly attempts: number;
  /** Whether credentials may be sent without TLS, or under a certificate that no authority verifies. */
  readonly trustOnFirstUse: boolean;
  readonly concurrency: number;
  /** The timeout for one connection. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly lines: ProgressLines;
}

const REQUEST_TIMEOUT_MS = 30_000;
/** The timeout for one login and the reads that follow. */
const LOGIN_TIMEOUT_MS = 180_000;
const MOST_MACS = 64;
const MAC = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/;

/**
 * Tries the candidates at each BMC, one after the other, until one is accepted. Uses one provider per BMC, because the same
 * account may be behind all of them, and one attempt per candidate, because accounts lock. Any failure but a refused login
 * ends the attempts. Rejects only when the signal aborts.
 */
export function tryLogins(
  bmcs: readonly FoundBmc[],
  candidates: readonly Candidate[],
  options: LoginOptions,
  signal: AbortSignal,
): Promise<readonly Login[]> {
  const first = firstAddresses(bmcs);
  const work = async (bmc: FoundBmc, own: AbortSignal): Promise<Login> => {
    const same = first.get(identityOf(bmc) ?? bmc.host) ?? bmc.host;
    if (same !== bmc.host) return { state: "skipped", problem: `is the BMC of ${same}`, sameAs: same };
    return tryLogin(bmc, candidates, options, own);
  };
  const failed = (bmc: FoundBmc, thrown: unknown): Login => {
    const provider = providerFor(bmc, options.trustOnFirstUse);
    const problem = BmcError.from(thrown).message;
    return provider ? { state: "failed", provider, problem } : { state: "skipped", problem };
  };
  return mapLimited(bmcs, { mostAtATime: options.concurrency, work, failed }, signal);
}

/** Identifies a BMC with several addresses by its UUID and its certificate. Either alone may be a vendor's default. */
function identityOf({ redfish }: FoundBmc): string | undefined {
  return redfish?.uuid && `${redfish.uuid} ${redfish.certificate.fingerprint}`;
}

function firstAddresses(bmcs: readonly FoundBmc[]): ReadonlyMap<string, string> {
  return new Map(bmcs.toReversed().map((bmc) => [identityOf(bmc) ?? bmc.host, bmc.host]));
}

async function tryLogin(
  bmc: FoundBmc,
  candidates: readonly Candidate[],
  options: LoginOptions,
  signal: AbortSignal,
): Promise<Login> {
  const provider = providerFor(bmc, options.trustOnFirstUse);
  if (!provider) return { state: "skipped", problem: skipReason(bmc) };
  const tried = candidates.slice(0, options.attempts);
  for (const [index, candidate] of tried.entries()) {
    const text = `trying credentials ${index + 1} of ${tried.length} with ${provider}`;
    options.lines.show(bmc.host, { text });
    try {
      return await withTimeout(LOGIN_TIMEOUT_MS, signal, (until) =>
        loginOnce(bmc, provider, candidate, options, until),
      );
    } catch (thrown) {
      signal.throwIfAborted();
      const error = BmcError.from(thrown);
      if (error.class !== "auth") return { state: "failed", provider, problem: error.message };
      if (error.refused === "right") {
        return { state: "accepted", provider, candidate, problem: error.message };
      }
    } finally {
      options.lines.end(bmc.host);
    }
  }
  return { state: "refused", provider, attempts: tried.length };
}

/**
 * Chooses the provider for a login. IPMI needs no certificate: a BMC proves that it knows the password before it receives
 * anything derived from it (RAKP 2).
 */
function providerFor({ redfish, ipmi, amt }: FoundBmc, trusts: boolean): LoginProvider | undefined {
  if (redfish && (trusts || redfish.certificate.isTrusted)) return "redfish";
  if (ipmi && ipmi.version !== "rmcp" && ipmi.version !== "1.5") return "ipmi";
  return amt && (trusts || amt.certificate?.isTrusted) ? "amt" : undefined;
}

function skipReason({ redfish, amt }: FoundBmc): string {
  if (redfish ?? amt?.certificate) return "its certificate is not verified";
  return amt ? "it has no certificate" : "it answers in no way that can log in";
}

async function loginOnce(
  bmc: FoundBmc,
  provider: LoginProvider,
  candidate: Candidate,
  { timeoutMs, clock }: LoginOptions,
  signal: AbortSignal,
): Promise<Login> {
  const { open } = await loadProvider(provider);
  // One attempt only, because the client would repeat a request that a busy or silent BMC did not answer.
  const session = await open(
    connectionTo(bmc, provider, candidate, timeoutMs),
    { clock, log: silentLogger },
    signal,
  );
  const accepted = { state: "accepted", provider, candidate } as const;
  try {
    return { ...accepted, ...defined({ machine: await readMachine(session, signal) }) };
  } catch (thrown) {
    return { ...accepted, problem: BmcError.from(thrown).message };
  } finally {
    await session.close();
  }
}

function connectionTo(
  { host, redfish, amt, ipmi }: FoundBmc,
  provider: LoginProvider,
  { username, password }: Candidate,
  connectTimeoutMs: number,
): Connection {
  const certificate = provider === "redfish" ? redfish?.certificate : amt?.certificate;
  return Connection.parse({
    host,
    username,
    password: password.reveal(),
    providers: [provider],
    connectTimeoutMs,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    // Only the certificate that the BMC presented is accepted.
    tls: certificate && { fingerprint: certificate.fingerprint },
    // A login is one request, but with basic authentication every request is a login.
    redfish: { port: redfish?.port, auth: "session" },
    ipmi: { port: ipmi?.port },
    amt: amt && { port: amt.port, scheme: amt.scheme },
  });
}

/** Reads the machine's identity. Resolves to undefined if the provider cannot read it. */
async function readMachine(session: Session, signal: AbortSignal): Promise<FoundMachine | undefined> {
  if (!session.inventory) return undefined;
  const { system, nics } = await session.inventory.read(signal);
  const macs = nics.flatMap(({ mac }) => mac?.toLowerCase().replaceAll("-", ":") ?? []).filter(isMac);
  const { vendor, model, serial } = system;
  const texts = defined({ vendor: brief(vendor), model: brief(model), serial: brief(serial) });
  return { ...texts, macs: [...new Set(macs)].slice(0, MOST_MACS) };
}

/** Whether a text is the MAC address of one interface: not zero and not a group address (IEEE 802, bit 0 of the first byte). */
function isMac(text: string): boolean {
  return MAC.test(text) && text !== "00:00:00:00:00:00" && (Number.parseInt(text.slice(0, 2), 16) & 1) === 0;
}
