import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from "node:net";
import { pipeline } from "node:stream";
import type { SecureVersion, TLSSocket } from "node:tls";
import { afterEach, describe, expect, it, vi } from "vitest";
import { HttpConnection } from "../../../../shared/bmc/http/http-connection.ts";
import type { TlsOptions } from "../../../../shared/contract/connection.ts";
import { createCertificate, fingerprintOf } from "../../../../simulators/certificate.ts";

const NEVER = new AbortController().signal;
const TEN_MINUTES_MS = 10 * 60_000;
/** RFC 8446 section 6.2: a fatal alert, handshake_failure. */
const ALERT = Buffer.from([0x15, 3, 3, 0, 2, 2, 40]);

const certificate = createCertificate({ commonName: "BMC", altNames: ["127.0.0.1"] });
const PINNED = { fingerprint: fingerprintOf(certificate) };
const expiresMs = new X509Certificate(certificate.cert).validToDate.getTime();

afterEach(() => {
  vi.useRealTimers();
});

describe.each<SecureVersion>(["TLSv1.2", "TLSv1.3"])("with %s, a connection", (maxVersion) => {
  it.each([
    ["pinned", PINNED],
    ["verified", { ca: certificate.cert }],
  ])(
    "resumes the session of the one before, again and again, and knows its %s certificate",
    async (_, tls) => {
      await using peer = await startPeer(maxVersion);

      const expiries = [await peer.ask(tls), await peer.ask(tls), await peer.ask(tls)];

      expect(peer.resumed).toEqual([false, true, true]);
      expect(expiries).toEqual([expiresMs, expiresMs, expiresMs]);
    },
  );

  it("makes a full handshake if it has other TLS options, and rejects the certificate", async () => {
    await using peer = await startPeer(maxVersion);
    await peer.ask({ verify: false });

    await expect(peer.ask({ fingerprint: "ab".repeat(32) })).rejects.toThrow(/not the pinned/);
    await expect(peer.ask({ verify: true })).rejects.toThrow(/self-signed/);
    // A rejected one is not kept.
    await expect(peer.ask({ verify: true })).rejects.toThrow(/self-signed/);

    expect(peer.resumed).not.toContain(true);
  });

  it("makes a full handshake after ten minutes, however often the session was resumed", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    await using peer = await startPeer(maxVersion);

    await peer.ask();
    vi.advanceTimersByTime(TEN_MINUTES_MS - 1_000);
    await peer.ask();
    vi.advanceTimersByTime(2_000);
    await peer.ask();

    expect(peer.resumed).toEqual([false, true, false]);
  });

  it("makes a full handshake if the peer fails at the session", async () => {
    await using peer = await startPeer(maxVersion);
    await using front = await startFront(peer.port, 2);

    await peer.ask(PINNED, front.port);
    await peer.ask(PINNED, front.port);

    expect(front.connections()).toBe(3);
    expect(peer.resumed).toEqual([false, false]);
  });
});

/** An HTTPS server that knows of each connection whether it resumed a session. */
async function startPeer(maxVersion: SecureVersion) {
  const resumed: boolean[] = [];
  const server = createServer({ ...certificate, maxVersion }, (_, response) => response.end("here"));
  server.on("secureConnection", (socket: TLSSocket) => resumed.push(socket.isSessionReused()));
  const port = await listen(server);
  return {
    port,
    resumed,
    /** One request by a connection of its own; returns when the certificate expires. */
    async ask(tls: Partial<TlsOptions> = PINNED, toPort = port) {
      const http = new HttpConnection({
        scheme: "https",
        host: "127.0.0.1",
        port: toPort,
        tls: { verify: true, fallback: false, ...tls },
        connectTimeoutMs: 2_000,
        requestTimeoutMs: 2_000,
        maxBodyBytes: 100,
      });
      try {
        await http.send({ method: "GET", path: "/", headers: {}, doing: "GET /", isWrite: false }, NEVER);
        return http.certificateExpiresMs;
      } finally {
        await http.close();
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A TCP peer before another one: it answers one connection of all with a TLS alert. */
async function startFront(toPort: number, refused: number) {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections++;
    if (connections === refused) {
      socket.on("error", () => undefined);
      return void socket.resume().end(ALERT);
    }
    pipeline(socket, connect(toPort, "127.0.0.1"), socket, () => undefined);
  });
  return {
    port: await listen(server),
    connections: () => connections,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}
