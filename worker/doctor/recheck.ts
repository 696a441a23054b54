import { connect as connectTcp } from "node:net";
import { connect as connectTls, type PeerCertificate } from "node:tls";
import { createDialer, type ServerOptions } from "../source/grpc/dial.ts";
import { openConnection } from "../source/grpc/http2-connection.ts";

/** How long a recheck may take. It sends nothing that the server could act on. */
export interface RecheckLimits {
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** The server's certificate, whether it is trusted or not; undefined without a TLS handshake. Sends no client certificate. */
export async function fetchCertificate(
  { server, serverName }: Pick<ServerOptions, "server" | "serverName">,
  { ms, signal }: RecheckLimits,
): Promise<PeerCertificate | undefined> {
  const { hostname, port } = new URL(createDialer({ server, tls: false }).url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const servername = serverName ?? (/^[\d.]+$|:/.test(host) ? "" : host);
  const tcp = connectTcp({ host, port: Number(port || 80) });
  const socket = connectTls({ socket: tcp, servername, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  const bound = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  try {
    return await new Promise<PeerCertificate | undefined>((resolve) => {
      const give = () => resolve(undefined);
      socket.once("secureConnect", () => resolve(socket.getPeerCertificate()));
      for (const end of [tcp, socket]) end.on("error", give).on("close", give);
      bound.addEventListener("abort", give, { once: true });
    });
  } finally {
    socket.destroy();
    tcp.destroy();
  }
}

/** Whether the server uses HTTP/2 without TLS. */
export async function acceptsPlaintext(server: string, { ms, signal }: RecheckLimits): Promise<boolean> {
  const dialer = createDialer({ server, tls: false, connectTimeoutMs: ms });
  const bound = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  try {
    const connection = await openConnection(dialer, { pingIntervalMs: 60_000, pingTimeoutMs: 60_000 }, bound);
    await connection.close();
    return true;
  } catch {
    return false;
  }
}
