import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { isDeepStrictEqual } from "node:util";
import type { Endpoint } from "./endpoint.ts";

/** A TLS session that later connections may resume. */
export interface TlsSession {
  readonly data: Buffer;
  /** The certificate of the full handshake, because Node does not return it again. */
  readonly certificate: X509Certificate;
  /** When the session was accepted, by the monotonic clock. */
  readonly acceptedMs: number;
}

type Peer = Pick<Endpoint, "host" | "port" | "tls">;

/** Room for one session per action that the runtime `in-process` runs at a time by default. */
const MAX_SESSIONS = 1_000;
/** More than the certificate and ticket of a BMC need. */
const MAX_BYTES = 16_384;
/** After this time, the peer must present its certificate again. */
const KEPT_MS = 10 * 60_000;

/**
 * The TLS sessions of accepted peers. Only the same peer can resume one (RFC 8446 section 2.2). Connections that expect
 * another certificate or authority make a full handshake. Resuming saves the BMC a signature, the slowest part.
 */
export class TlsSessions {
  readonly #kept = new Map<string, { readonly tls: Endpoint["tls"]; readonly session: TlsSession }>();

  /** Removes and returns a session, so that one with which the peer fails is not used again. */
  take({ host, port, tls }: Peer): TlsSession | undefined {
    const key = `${host} ${port}`;
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    if (!kept || performance.now() - kept.session.acceptedMs > KEPT_MS) return undefined;
    return isDeepStrictEqual(kept.tls, tls) ? kept.session : undefined;
  }

  /** Keeps the session of an accepted connection, and a resumed one until the peer sends another. */
  keep(peer: Peer, socket: TLSSocket, certificate: X509Certificate, resumed?: TlsSession): void {
    const known = socket.isSessionReused() ? resumed : undefined;
    const acceptedMs = known?.acceptedMs ?? performance.now();
    const keep = (data: Buffer) => this.#set(peer, { data, certificate, acceptedMs });
    // TLS 1.3 sends the session later, and not after every handshake.
    const data = known?.data ?? (socket.getProtocol() === "TLSv1.3" ? undefined : socket.getSession());
    if (data) keep(data);
    socket.on("session", keep);
  }

  #set({ host, port, tls }: Peer, session: TlsSession): void {
    if (session.data.length > MAX_BYTES) return;
    const key = `${host} ${port}`;
    this.#kept.delete(key);
    this.#kept.set(key, { tls, session });
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MAX_SESSIONS) this.#kept.delete(oldest);
  }
}
