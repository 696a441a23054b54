import { authority, type Endpoint } from "../../../shared/bmc/http/endpoint.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { fileProblemOf, readTextFile } from "../../../shared/read-text-file.ts";
import { mapLimited } from "../../../worker/doctor/map-limited.ts";
import type { MachineEntry } from "../../../worker/machines/inventory-schema.ts";
import { tlsEndpoints } from "../../../worker/machines/tls-endpoints.ts";
import { readCertificate, type SeenCertificate } from "./read-certificate.ts";

/** What a machine presents, or why that is unknown. */
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
  /** It is out of service: nothing is sent to it. */
  | { readonly kind: "paused"; readonly entry: MachineEntry; readonly reason: string }
  /** It uses no TLS. */
  | { readonly kind: "skipped"; readonly entry: MachineEntry };

export interface SurveyOptions {
  readonly concurrency: number;
  /** For each connection; the machine's own `connectTimeout` if undefined. */
  readonly timeoutMs: number | undefined;
}

/** Reads the certificate of every machine, in their order. Rejects only when the signal aborts. */
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

/** An entry has one fingerprint, which holds for all of its providers. */
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
  // Without verification the worker accepts any certificate, so that this one is not protected yet.
  if (isTrusted && tls.verify) return "trusted";
  return tls.caFile === undefined ? "new" : "changed";
}
