import { BmcError } from "../../contract/bmc-error.ts";
import { formatSeconds } from "../../duration.ts";
import { type CertificateChain, type CertificateSummary, describeCertificate } from "./certificate-chain.ts";
import type { CertificatePort } from "./certificate-port.ts";
import { isFinal, uncertainty } from "./read-back.ts";

/** The result of installing a certificate. */
export interface CertificateReport {
  /** The certificate that the BMC presented before. */
  readonly before: CertificateSummary;
  /** The certificate that a new connection presents. */
  readonly after: CertificateSummary;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** The result in one line for display. */
  readonly summary: string;
}

/** The progress of an installation: about to be sent, or sent. */
export type CertificateStage = "sending" | "sent";

interface Installation {
  readonly chain: CertificateChain;
  readonly resets: boolean;
  readonly timeoutMs: number;
  readonly onStage: (stage: CertificateStage, before: CertificateSummary) => void;
}

const POLL_MS = 2_000;
const LONGEST_LOOK_MS = 15_000;
/** The errors after a reset that was carried out: the BMC presents nothing, or the new certificate. */
const RESTARTING = ["tls", "timeout", "unreachable"];

/**
 * Sends a certificate once, unless the BMC already presents it, and polls with new connections until it is presented and a
 * login succeeds. If the answer is lost, only polls follow, which send no password.
 */
export async function installCertificate(
  port: CertificatePort,
  installation: Installation,
): Promise<CertificateReport> {
  const { chain, resets, onStage } = installation;
  const before = await port.shown();
  const summary = describeCertificate(chain.leaf);
  if (before.fingerprint === chain.leaf.fingerprint) {
    return { before, after: before, changed: false, summary: `already shows ${summary}` };
  }
  onStage("sending", before);
  const lost = await uncertainty(() => port.install(chain));
  onStage("sent", before);
  try {
    if (resets && !lost) await resetUnlessShown(port, chain);
    const after = await awaitShown(port, installation, lost);
    const login = lost ? "; the answer was lost, so no login was tried" : "";
    return { before, after, changed: true, summary: `shows ${summary}${login}` };
  } catch (thrown) {
    await port.trustOnly(undefined);
    throw thrown;
  }
}

async function resetUnlessShown(port: CertificatePort, { leaf }: CertificateChain): Promise<void> {
  const seen = await look(port, LONGEST_LOOK_MS);
  if (seen instanceof BmcError || seen.fingerprint === leaf.fingerprint) return;
  port.progress("resetting the BMC so that it uses the certificate");
  try {
    await port.reset();
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (!error.uncertain && !RESTARTING.includes(error.class)) throw error;
  }
}

async function awaitShown(
  port: CertificatePort,
  { chain: { leaf }, timeoutMs, resets }: Installation,
  lost: BmcError | undefined,
): Promise<CertificateSummary> {
  const endMs = port.clock.monotonicMs() + timeoutMs;
  port.progress("certificate sent, waiting for the BMC to show it", timeoutMs);
  for (;;) {
    const leftMs = endMs - port.clock.monotonicMs();
    const limitMs = Math.min(LONGEST_LOOK_MS, Math.max(POLL_MS, leftMs));
    let seen = await look(port, limitMs);
    if (!(seen instanceof BmcError) && seen.fingerprint === leaf.fingerprint) {
      // If the BMC has accepted the certificate, it has the key. Otherwise the password might be sent to someone else who has
      // the key.
      const refused = lost ? undefined : await logIn(port, leaf, limitMs);
      if (!refused) return seen;
      seen = refused;
    }
    if (leftMs <= 0) throw failureOf(port, { leaf, timeoutMs, resets, lost }, seen);
    await port.sleep(Math.min(POLL_MS, leftMs));
  }
}

/** Reads the certificate that is presented, or why there is none. */
async function look(port: CertificatePort, limitMs: number): Promise<CertificateSummary | BmcError> {
  try {
    return await port.look(limitMs);
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (isFinal(error)) throw error;
    return error;
  }
}

async function logIn(
  port: CertificatePort,
  { fingerprint }: CertificateSummary,
  limitMs: number,
): Promise<BmcError | undefined> {
  try {
    await port.logIn(fingerprint, limitMs);
    return undefined;
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (isFinal(error)) throw error;
    return error;
  }
}

interface FailedInstallation extends Pick<Installation, "timeoutMs" | "resets"> {
  readonly leaf: CertificateSummary;
  readonly lost: BmcError | undefined;
}

function failureOf(
  port: CertificatePort,
  { leaf, timeoutMs, resets, lost }: FailedInstallation,
  seen: CertificateSummary | BmcError,
): BmcError {
  const within = `within ${formatSeconds(timeoutMs)}`;
  if (seen instanceof BmcError) {
    const message = `the BMC did not answer at ${port.host} with the new certificate ${within}: ${seen.message}`;
    return new BmcError("timeout", message, { cause: seen });
  }
  const why = lost ? ` (${lost.message})` : resets ? "" : "; some BMCs need a reset to use it";
  const message = `asked for ${describeCertificate(leaf)}, ${within} the BMC still shows ${describeCertificate(seen)}${why}`;
  return new BmcError("verify", message, { cause: lost });
}
