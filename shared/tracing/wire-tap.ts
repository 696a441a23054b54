import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { defined } from "../defined.ts";

/** Facts about a connection and its certificate that do not identify a machine. */
export interface TlsFacts {
  readonly protocol?: string;
  readonly cipher?: string;
  readonly keyType?: string;
  readonly keyBits?: number;
  readonly signature?: string;
  readonly selfSigned: boolean;
  readonly notBefore: string;
  readonly notAfter: string;
}

/** One HTTP exchange as sent and received, including secrets. Times are on the monotonic clock. */
export interface TappedHttp {
  /** The scheme, host and port of the service. */
  readonly origin: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body; undefined if there was none or it was a file. */
  readonly body: string | undefined;
  readonly startedMs: number;
  readonly endedMs: number;
  /** The number of the connection, counted from 1. */
  readonly connection: number;
  readonly answer?: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Buffer;
  };
  readonly error?: unknown;
}

export interface TappedIpmi {
  /** The name of the command in the specification, or `Open Session`, `RAKP1` or `RAKP3` in a handshake. */
  readonly command: string;
  /** Undefined in a handshake, where `code` is the type of the payload and `completionCode` the status. */
  readonly netFn: number | undefined;
  readonly code: number;
  /** The data; undefined if it contains a secret. */
  readonly data: Uint8Array | undefined;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly completionCode?: number;
  readonly answer?: Uint8Array;
  readonly error?: unknown;
}

/** Receives everything that is sent to and received from one BMC. */
export interface WireTap {
  connected(facts: TlsFacts): void;
  http(exchange: TappedHttp): void;
  ipmi(exchange: TappedIpmi): void;
}

export function tlsFactsOf(socket: TLSSocket, certificate: X509Certificate): TlsFacts {
  const { publicKey, signatureAlgorithm, subject, issuer, validFromDate, validToDate } = certificate;
  const { asymmetricKeyType: keyType, asymmetricKeyDetails: details } = publicKey;
  return {
    ...defined({
      protocol: socket.getProtocol() ?? undefined,
      cipher: socket.getCipher()?.name,
      keyType,
      keyBits: details?.modulusLength,
      signature: signatureAlgorithm,
    }),
    selfSigned: subject === issuer,
    notBefore: validFromDate.toISOString(),
    notAfter: validToDate.toISOString(),
  };
}
