import * as z from "zod/mini";
import type { Endpoint } from "../../shared/bmc/http/endpoint.ts";
import { HttpConnection } from "../../shared/bmc/http/http-connection.ts";
import { HttpClient } from "../../shared/bmc/providers/redfish/service/http-client.ts";
import { lenient } from "../../shared/bmc/providers/redfish/service/schema.ts";
import { defined } from "../../shared/defined.ts";
import { shortened } from "../../shared/printable.ts";
import { readCertificate } from "../inventory/pin/read-certificate.ts";
import type { FoundAmt, FoundCertificate, FoundRedfish } from "./bmc.ts";

export interface ProbeOptions {
  /** The timeout for the connection with its TLS handshake, and for the answer. */
  readonly timeoutMs: number;
  /** Awaited before each connection. */
  readonly turn: (signal: AbortSignal) => Promise<void>;
}

const SERVICE_ROOT = "/redfish/v1/";
const MOST_ROOT_BYTES = 262_144;
const MOST_AMT_BYTES = 65_536;
const LONGEST_TEXT = 100;

const ServiceRoot = z.object({
  "@odata.type": lenient(z.string()),
  RedfishVersion: lenient(z.string()),
  Vendor: lenient(z.string()),
  Product: lenient(z.string()),
  UUID: lenient(z.string()),
});

/**
 * Reads the service root, which needs no login (DSP0266, "Service root request"). Rejects if the answer is not a service
 * root.
 */
export async function probeRedfish(
  host: string,
  port: number,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<FoundRedfish> {
  const { endpoint, certificate } = await openTls(host, port, options, signal);
  await options.turn(signal);
  const http = new HttpClient({ ...endpoint, requestTimeoutMs: options.timeoutMs, identityEncoding: true });
  try {
    const { status, body } = await http.exchange(
      { method: "GET", path: SERVICE_ROOT, maxBytes: MOST_ROOT_BYTES },
      signal,
    );
    const root = ServiceRoot.parse(body);
    const isRoot = root.RedfishVersion !== undefined || /^#ServiceRoot\./.test(root["@odata.type"] ?? "");
    if (status !== 200 || !isRoot) throw new Error("no service root of Redfish");
    return {
      port,
      certificate,
      ...defined({
        version: brief(root.RedfishVersion),
        vendor: brief(root.Vendor),
        product: brief(root.Product),
        uuid: brief(root.UUID)?.toLowerCase(),
      }),
    };
  } finally {
    await http.close();
  }
}

/** The name of Intel AMT's web server, which is in every answer, even without a login. */
const AMT_SERVER =
  /^Intel\(R\) (?:Active Management Technology|Standard Manageability)(?:[ /]([\d.]{1,20}))?/i;

/** Probes the web server of Intel AMT. Rejects if the answer is not AMT's. */
export async function probeAmt(
  host: string,
  { port, scheme }: Pick<FoundAmt, "port" | "scheme">,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<FoundAmt> {
  const opened = scheme === "https" ? await openTls(host, port, options, signal) : undefined;
  await options.turn(signal);
  const plain = {
    scheme,
    host,
    port,
    tls: { verify: true, fallback: false },
    connectTimeoutMs: options.timeoutMs,
  };
  const http = new HttpConnection({
    ...(opened?.endpoint ?? plain),
    requestTimeoutMs: options.timeoutMs,
    maxBodyBytes: MOST_AMT_BYTES,
  });
  try {
    const request = { method: "GET", path: "/wsman", headers: {}, doing: "GET /wsman", isWrite: false };
    const { headers } = await http.send(request, signal);
    const named = AMT_SERVER.exec(headers["server"] ?? "");
    if (!named) throw new Error("no Intel AMT");
    return { port, scheme, ...defined({ version: named[1], certificate: opened?.certificate }) };
  } finally {
    await http.close();
  }
}

/** Reads the certificate and returns an endpoint that accepts only this certificate. */
async function openTls(host: string, port: number, { timeoutMs, turn }: ProbeOptions, signal: AbortSignal) {
  await turn(signal);
  const base = { scheme: "https", host, port, connectTimeoutMs: timeoutMs } as const;
  const any: Endpoint = { ...base, tls: { verify: false, fallback: false } };
  const { fingerprint, subject, isTrusted } = await readCertificate(any, signal);
  const certificate: FoundCertificate = { fingerprint, subject: shortened(subject, LONGEST_TEXT), isTrusted };
  const endpoint: Endpoint = { ...base, tls: { verify: true, fallback: false, fingerprint } };
  return { endpoint, certificate };
}

/** Shortens a BMC's text. Returns undefined if it is empty. */
export function brief(text: string | undefined): string | undefined {
  return text?.trim() ? shortened(text.trim(), LONGEST_TEXT) : undefined;
}
