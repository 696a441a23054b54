import { connect as connectTcp } from "node:net";
import { connect as connectTls, type PeerCertificate } from "node:tls";
import { createDialer, type ServerOptions } from "../source/grpc/dial.ts";
import { openConnection } from "../source/grpc/http2-connection.ts";

/** How long a look at a server may take that did not let the worker in. Nothing is sent that it could act on. */
export interface LookBounds {
  readonly ms: number;
  readonly signal: AbortSignal;
}

/**
 * The server's certificate, whoever signed it; undefined when it speaks no TLS, or too little of it. The worker's own
 * certificate is not shown.
 */
export async function lookAtCertificate(
  { server, serverName }: Pick<ServerOptions, "server" | "serverName">,
  { ms, signal }: LookBounds,
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

/** Whether the server speaks HTTP/2 without TLS. */
export async function speaksPlainly(server: string, { ms, signal }: LookBounds): Promise<boolean> {
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
