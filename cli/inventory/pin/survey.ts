import { authority, type Endpoint } from "../../../shared/bmc/http/endpoint.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { fileProblemOf, readTextFile } from "../../../shared/read-text-file.ts";
import { mapLimited } from "../../../worker/doctor/map-limited.ts";
import type { MachineEntry } from "../../../worker/machines/inventory-schema.ts";
import { tlsEndpoints } from "../../../worker/machines/tls-endpoints.ts";
import { readCertificate, type SeenCertificate } from "./read-certificate.ts";

/** The certificate that a machine presents, or why it is unknown. */
export type CertificateResult =
  | {
      readonly kind: "seen";
      readonly entry: MachineEntry;
      readonly address: string;
      readonly certificate: SeenCertificate;
      readonly comparison: Comparison;
    }
  | {
      readonly kind: "failed";
      readonly entry: MachineEntry;
      readonly address: string;
      readonly error: BmcError;
    }
  /** The machine is out of service, so nothing was sent to it. */
  | { readonly kind: "paused"; readonly entry: MachineEntry; readonly reason: string }
  /** The machine uses no TLS. */
  | { readonly kind: "skipped"; readonly entry: MachineEntry };

export interface SurveyOptions {
  readonly concurrency: number;
  /** The timeout for each connection. If undefined, the machine's own `connectTimeout`. */
  readonly timeoutMs: number | undefined;
}

/**
 * Reads the certificates of all machines. Resolves to the results in the order of the machines. Rejects only when the signal
 * aborts.
 */
export function surveyCertificates(
  entries: readonly MachineEntry[],
  { concurrency, timeoutMs }: SurveyOptions,
  signal: AbortSignal,
): Promise<readonly CertificateResult[]> {
  const failed = (entry: MachineEntry, thrown: unknown): CertificateResult => ({
    kind: "failed",
    entry,
    address: entry.host,
    error: BmcError.from(thrown),
  });
  const work = (entry: MachineEntry, own: AbortSignal) => surveyOne(entry, timeoutMs, own);
  return mapLimited(entries, { mostAtATime: concurrency, work, failed }, signal);
}

async function surveyOne(
  entry: MachineEntry,
  timeoutMs: number | undefined,
  signal: AbortSignal,
): Promise<CertificateResult> {
  if (entry.paused !== undefined) return { kind: "paused", entry, reason: entry.paused };
  let endpoints: readonly Endpoint[] = [];
  try {
    endpoints = tlsEndpoints(entry, bundleOf(entry));
    const [endpoint] = endpoints;
    if (!endpoint) return { kind: "skipped", entry };
    const certificate = await readSame(endpoints, timeoutMs, signal);
    const comparison = compareCertificate(certificate, entry);
    return { kind: "seen", entry, address: authority(endpoint), certificate, comparison };
  } catch (thrown) {
    signal.throwIfAborted();
    const address = endpoints.map(authority).join(", ");
    return { kind: "failed", entry, address, error: BmcError.from(thrown) };
  }
}

/** Reads the certificate of all providers of an entry, which has one fingerprint for all of them. */
async function readSame(
  endpoints: readonly Endpoint[],
  timeoutMs: number | undefined,
  signal: AbortSignal,
): Promise<SeenCertificate> {
  const seen: SeenCertificate[] = [];
  for (const endpoint of endpoints) {
    const { connectTimeoutMs } = endpoint;
    seen.push(
      await readCertificate({ ...endpoint, connectTimeoutMs: timeoutMs ?? connectTimeoutMs }, signal),
    );
  }
  const [first, ...others] = seen;
  if (!first || others.some(({ fingerprint }) => fingerprint !== first.fingerprint)) {
    const message = "its providers present different certificates: trust their CA with caFile instead";
    throw new BmcError("tls", message);
  }
  return { ...first, isTrusted: seen.every(({ isTrusted }) => isTrusted) };
}

function bundleOf({ tls: { caFile } }: MachineEntry): string | undefined {
  if (caFile === undefined) return undefined;
  try {
    return readTextFile(caFile);
  } catch (thrown) {
    throw new BmcError("usage", `caFile ${caFile} ${fileProblemOf(thrown)}`);
  }
}

/**
 * - `new`: nothing in the inventory says which certificate the machine has.
 * - `pinned`: the inventory has this fingerprint.
 * - `changed`: the inventory has another fingerprint, or a CA that did not issue it. It may be an attacker's.
 * - `trusted`: an authority verifies it, so that it needs no fingerprint.
 */
export type Comparison = "new" | "pinned" | "changed" | "trusted";

function compareCertificate(
  { fingerprint, isTrusted }: Pick<SeenCertificate, "fingerprint" | "isTrusted">,
  { tls }: Pick<MachineEntry, "tls">,
): Comparison {
  if (tls.fingerprint !== undefined) return tls.fingerprint === fingerprint ? "pinned" : "changed";
  // Without verification the worker accepts any certificate, so this one does not protect it yet.
  if (isTrusted && tls.verify) return "trusted";
  return tls.caFile === undefined ? "new" : "changed";
}
