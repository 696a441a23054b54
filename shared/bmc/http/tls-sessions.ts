import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { isDeepStrictEqual } from "node:util";
import type { Endpoint } from "./endpoint.ts";

/** A TLS session that later connections may resume. */
export interface TlsSession {
  readonly data: Buffer;
  /** The one that was accepted when the session began: Node does not show it again. */
  readonly certificate: X509Certificate;
  /** When that was, by the monotonic clock. */
  readonly acceptedMs: number;
}

type Peer = Pick<Endpoint, "host" | "port" | "tls">;

/** Far more than a worker's actions that run at a time. */
const MOST = 1_000;
/** Beyond certificate and ticket of any BMC. */
const MOST_BYTES = 16_384;
/** For so long a certificate is believed without being shown again. */
const KEPT_MS = 10 * 60_000;

/**
 * The sessions of accepted peers. Only the same peer can resume one (RFC 8446 section 2.2); connections that expect another
 * certificate or authority begin anew. It spares a BMC the signature, the slowest part of a handshake.
 */
export class TlsSessions {
  readonly #kept = new Map<string, { readonly tls: Endpoint["tls"]; readonly session: TlsSession }>();

  /** Takes it away, so that a session at which a peer fails is tried only once. */
  take({ host, port, tls }: Peer): TlsSession | undefined {
    const key = `${host} ${port}`;
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    if (!kept || performance.now() - kept.session.acceptedMs > KEPT_MS) return undefined;
    return isDeepStrictEqual(kept.tls, tls) ? kept.session : undefined;
  }

  /** Keeps the session of an accepted connection, the one that it resumed until it has another. */
  keep(peer: Peer, socket: TLSSocket, certificate: X509Certificate, resumed?: TlsSession): void {
    const known = socket.isSessionReused() ? resumed : undefined;
    const acceptedMs = known?.acceptedMs ?? performance.now();
    const keep = (data: Buffer) => this.#set(peer, { data, certificate, acceptedMs });
    // TLS 1.3 sends it later, and not after each handshake.
    const data = known?.data ?? (socket.getProtocol() === "TLSv1.3" ? undefined : socket.getSession());
    if (data) keep(data);
    socket.on("session", keep);
  }

  #set({ host, port, tls }: Peer, session: TlsSession): void {
    if (session.data.length > MOST_BYTES) return;
    const key = `${host} ${port}`;
    this.#kept.delete(key);
    this.#kept.set(key, { tls, session });
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MOST) this.#kept.delete(oldest);
  }
}
