import { once } from "node:events";
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type OutgoingHttpHeaders } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { Secret } from "../../../shared/secret.ts";
import { type CertificateOptions, createCertificate } from "../../../simulators/certificate.ts";
import { startTinkServer, type TinkServerOptions } from "../../../simulators/tink/server.ts";
import { startLegacyTinkServer } from "../../../simulators/tink-legacy/server.ts";
import { checkServer, DOCTOR_AGENT_ID } from "../../../worker/doctor/check-server.ts";
import type { ServerConfig } from "../../../worker/sources/server/server-settings.ts";
import { eventually } from "../../actions/lab.ts";

const DAY_MS = 86_400_000;
const TIMEOUT_MS = 20_000;
const never = new AbortController().signal;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);
const dateIn = (days: number) => inDays(days).toISOString().slice(0, 10);

const authority = createCertificate({ commonName: "Test CA", authority: true });
const made = (more: Partial<CertificateOptions> = {}) =>
  createCertificate({
    commonName: "tink",
    altNames: ["127.0.0.1", "localhost"],
    issuer: authority,
    notAfter: inDays(90),
    ...more,
  });
const good = made();

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function tink(options: TinkServerOptions = {}) {
  const server = await startTinkServer(options);
  closers.push(() => server.close());
  return server;
}

/** Something else that listens; resolves to its address. */
async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => undefined)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening");
  return `127.0.0.1:${address.port}`;
}

function check(server: string, more: Partial<ServerConfig> = {}, timeoutMs = TIMEOUT_MS) {
  const config = {
    server,
    tls: false,
    insecureTls: false,
    pollTimeoutMs: 75_000,
    api: "auto",
    ...more,
  } as const;
  return checkServer(config, timeoutMs, never);
}

const overTls = { tls: true, ca: authority.cert } as const;

describe("a tink server that is well", () => {
  it("is told by its API, and nothing is taken from it", async () => {
    const server = await tink();

    const found = await check(server.address);

    expect(found).toEqual([
      {
        check: "tink-server",
        state: "ok",
        subject: server.address,
        detail: "current API (Tinkerbell 0.17 or later), without TLS",
      },
    ]);
    expect(server.polls).toEqual([]);
    expect(server.reports).toEqual([]);
    await eventually(() => server.connections.open === 0);
  });

  it("shows its certificate", async () => {
    const server = await tink({ tls: good });

    const [found] = await check(server.address, overTls);

    expect(found).toMatchObject({
      state: "ok",
      detail: `current API (Tinkerbell 0.17 or later), TLS 1.3, certificate of tink valid until ${dateIn(90)}`,
    });
  });

  it("takes a worker that shows the certificate it wants", async () => {
    const server = await tink({ tls: { ...good, clientCa: authority.cert } });
    const client = made({ commonName: "worker" });

    const found = await check(server.address, {
      ...overTls,
      clientCertificate: client.cert,
      clientKey: new Secret(client.key),
    });

    expect(found.map(({ state }) => state)).toEqual(["ok"]);
  });
});

describe("a tink server of the deprecated API", () => {
  it("is a warning, and gets one request, for an agent ID without work", async () => {
    const server = await startLegacyTinkServer();
    closers.push(() => server.close());

    const found = await check(server.address);

    expect(found).toMatchObject([
      { state: "warning", cause: "deprecated-api", detail: "deprecated API (tink 0.8 to 0.12), without TLS" },
    ]);
    expect(server.calls).toEqual([{ method: "GetWorkflowContexts", about: DOCTOR_AGENT_ID }]);
  });

  it("is a problem where the settings name the other one", async () => {
    const server = await startLegacyTinkServer();
    closers.push(() => server.close());

    const found = await check(server.address, { api: "current" });

    expect(found).toMatchObject([
      {
        state: "problem",
        cause: "other-api",
        class: "unsupported",
        remedy: "set --grpc-api to auto or legacy",
      },
    ]);
  });
});

describe("a certificate that is not to be trusted", () => {
  it.each<[string, Partial<CertificateOptions>, string, string]>([
    ["expired", { notAfter: inDays(-0.5) }, "tls-expired", "has expired"],
    ["not valid yet", { notBefore: inDays(1) }, "tls-not-yet-valid", "is not valid yet"],
    ["of another name", { altNames: ["other.example.org"] }, "tls-wrong-name", "is for another name"],
  ])("is told as %s, with what it says of itself", async (_, options, cause, words) => {
    const server = await tink({ tls: made(options) });

    const found = await check(server.address, overTls);

    expect(found).toMatchObject([{ state: "problem", cause, class: "tls", subject: server.address }]);
    expect(found[0]?.detail).toContain(
      `the certificate ${words} (for ${options.altNames?.[0] ?? "127.0.0.1"}`,
    );
    expect(found[0]?.detail).toContain("issued by Test CA");
  });

  it("names the authority that is to be given", async () => {
    const server = await tink({ tls: good });

    const [found] = await check(server.address, { tls: true });

    expect(found).toMatchObject({ cause: "tls-unknown-authority", class: "tls" });
    expect(found?.remedy).toContain("(Test CA) with --grpc-ca-file");
  });

  it("is told as signed by itself", async () => {
    const server = await tink({ tls: createCertificate({ commonName: "tink", altNames: ["127.0.0.1"] }) });

    const [found] = await check(server.address, overTls);

    expect(found).toMatchObject({ cause: "tls-unknown-authority" });
    expect(found?.detail).toContain("signed by itself");
  });

  it("names the names that it has where another was asked for", async () => {
    const server = await tink({ tls: good });

    const [found] = await check(server.address, { ...overTls, serverName: "tink.example.org" });

    expect(found).toMatchObject({ cause: "tls-wrong-name" });
    expect(found?.remedy).toContain("(127.0.0.1, localhost)");
  });

  it("is a warning where any is taken, and where its end is near", async () => {
    const [past, soon] = [
      await tink({ tls: made({ notAfter: inDays(-0.5) }) }),
      await tink({ tls: made({ notAfter: inDays(3) }) }),
    ];

    const found = await Promise.all([
      check(past.address, { tls: true, insecureTls: true }),
      check(soon.address, overTls),
    ]);

    expect(found).toMatchObject([
      [{ state: "ok" }, { state: "warning", cause: "certificate-expired-but-taken" }],
      [{ state: "ok" }, { state: "warning", cause: "certificate-ends-soon" }],
    ]);
  });

  it("is the worker's own when that ends soon", async () => {
    const server = await tink({ tls: { ...good, clientCa: authority.cert } });
    const client = made({ commonName: "worker", notAfter: inDays(2) });

    const found = await check(server.address, {
      ...overTls,
      clientCertificate: client.cert,
      clientKey: new Secret(client.key),
    });

    expect(found).toMatchObject([
      { state: "ok" },
      { cause: "certificate-ends-soon", detail: `the worker's own certificate is valid until ${dateIn(2)}` },
    ]);
  });
});

const answering = (fields: OutgoingHttpHeaders & { readonly ":status"?: number }) =>
  listening(
    createHttp2Server((request, response) => {
      request.resume();
      response.stream.respond(fields, { endStream: true });
    }),
  );
const grpc = (status: number, message: string) => ({
  "content-type": "application/grpc",
  "grpc-status": String(status),
  "grpc-message": encodeURIComponent(message),
});
const addressOf = async (server: ReturnType<typeof tink>) => (await server).address;
const asked = { ...good, clientCa: authority.cert };
const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL@SECLEVEL=0" } as const;
const DOWN = "upstream connect error or disconnect/reset before headers. reset reason: connection failure";

describe("a server that cannot be used is told by its cause", () => {
  it.each<[string, () => string | Promise<string>, Partial<ServerConfig>, object]>([
    ["without TLS", () => addressOf(tink()), { tls: true }, { cause: "server-without-tls", class: "tls" }],
    ["with TLS", () => addressOf(tink({ tls: good })), {}, { cause: "server-with-tls", class: "tls" }],
    [
      "that wants a certificate of the worker",
      () => addressOf(tink({ tls: asked })),
      overTls,
      { cause: "client-certificate-wanted", class: "tls" },
    ],
    [
      "without HTTP/2 in its TLS",
      () => listening(createTlsServer({ ...good, ALPNProtocols: ["http/1.1"] })),
      overTls,
      { cause: "server-without-http2", class: "protocol" },
    ],
    [
      "with too old a TLS",
      () => listening(createTlsServer({ ...good, ...old })),
      overTls,
      { cause: "tls-failed", class: "tls", detail: expect.stringContaining("protocol version") },
    ],
    [
      "that refuses connections",
      () => "127.0.0.1:1",
      {},
      { state: "problem", subject: "127.0.0.1:1", cause: "server-refuses-connections", class: "unreachable" },
    ],
    [
      "whose name is unknown",
      () => "nowhere.invalid:42113",
      {},
      { cause: "name-not-found", class: "unreachable" },
    ],
    [
      "that hangs up",
      () => listening(createTcpServer((socket) => socket.destroy())),
      {},
      { cause: "connection-broken", class: "unreachable" },
    ],
    [
      "that hangs up within TLS",
      () => listening(createTcpServer((socket) => socket.destroy())),
      { tls: true },
      { cause: "connection-broken", class: "unreachable" },
    ],
    [
      "that is a web server",
      () => listening(createHttpServer((_, response) => response.end("welcome"))),
      {},
      { cause: "server-without-http2", class: "protocol" },
    ],
    [
      "with another gRPC service",
      () => answering(grpc(12, "unknown service proto.WorkflowService")),
      {},
      {
        ...{ cause: "no-workflow-api", class: "unsupported" },
        detail: expect.stringContaining("unknown service proto.WorkflowService"),
      },
    ],
    ["that is a proxy alone", () => answering({ ":status": 404 }), {}, { cause: "no-workflow-api" }],
    [
      "behind a proxy that says so in gRPC",
      () => answering(grpc(14, DOWN)),
      {},
      { cause: "server-behind-proxy-down", class: "unreachable" },
    ],
    [
      "that answers with an error",
      () => answering(grpc(14, "server shutting down")),
      {},
      { cause: "server-error", detail: "it answers Unavailable: server shutting down" },
    ],
    [
      "behind an HTTP proxy that cannot be used, which nothing goes past",
      () => "tink.example:42113",
      { tls: true, proxy: { url: new Secret("http://user:canary@127.0.0.1:1"), noProxy: "" } },
      {
        ...{ cause: "http-proxy-unusable", class: "unreachable" },
        detail: expect.stringMatching(/^the proxy http:\/\/127\.0\.0\.1:1 cannot be used: /),
      },
    ],
  ])("%s", async (_, address, config, expected) => {
    expect(await check(await address(), config)).toMatchObject([expected]);
  });

  it("that does not take the worker's certificate, which is named", async () => {
    const server = await tink({ tls: asked });
    const stranger = made({
      commonName: "worker-7",
      issuer: createCertificate({ commonName: "Other CA", authority: true }),
    });

    const [found] = await check(server.address, {
      ...overTls,
      clientCertificate: stranger.cert,
      clientKey: new Secret(stranger.key),
    });

    expect(found).toMatchObject({ cause: "client-certificate-refused", class: "tls" });
    expect(found?.remedy).toContain("CN=worker-7");
  });

  it.each([[false], [true]])(
    "that takes connections and says nothing (TLS %s) is told as silent",
    async (tls) => {
      const address = await listening(createTcpServer(() => undefined));

      // The first TLS connection of a process loads the trust store, which takes a second on a busy host.
      const found = await check(address, { tls }, 4_000);

      expect(found).toMatchObject([{ cause: "server-silent", class: "timeout" }]);
      expect(found[0]?.detail).toMatch(/^it accepts the connection but /);
    },
  );

  it.each([
    [502, "server-behind-proxy-down", "a proxy (nginx/1.25) answers HTTP 502 Bad Gateway: the tink server"],
    [
      503,
      "server-behind-proxy-down",
      "answers HTTP 503 Service Unavailable: the tink server behind it does not",
    ],
    [504, "server-behind-proxy-down", "answers HTTP 504 Gateway Timeout: the tink server behind it does not"],
    [522, "server-behind-proxy-down", "answers HTTP 522: the tink server behind it does not answer"],
    [308, "proxy-redirects", "it redirects to https://tink.example/, which gRPC does not follow"],
    [403, "proxy-denies", "answers HTTP 403 Forbidden: it does not let the worker through"],
    [500, "server-error", "a proxy (nginx/1.25) answers HTTP 500 Internal Server Error"],
  ] as const)("that is a proxy answering %d is told as such", async (status, cause, words) => {
    const fields = { "content-type": "text/html", server: "nginx/1.25", location: "https://tink.example/" };
    const address = await answering({ ":status": status, ...fields });

    const [found] = await check(address);

    expect(found).toMatchObject({ cause });
    expect(found?.detail).toContain(words);
  });

  it.each([
    [false, 502, "server-without-http2", "a proxy answers HTTP 502 Bad Gateway: the tink server behind it"],
    [false, 301, "proxy-redirects", "it redirects to https://tink.example/"],
    [true, 301, "proxy-redirects", "it redirects to https://tink.example/"],
  ] as const)(
    "that is a proxy without HTTP/2 (TLS %s) answering %d is told as such",
    async (tls, status, cause, words) => {
      const answer = (_: unknown, response: ServerResponse) =>
        response.writeHead(status, { location: "https://tink.example/" }).end();
      const address = await listening(tls ? createHttpsServer(good, answer) : createHttpServer(answer));

      const [found] = await check(address, tls ? overTls : {});

      expect(found).toMatchObject({ cause });
      expect(found?.detail).toContain(words);
    },
  );

  it("that has another time is warned of", async () => {
    const address = await answering({
      ...grpc(12, "unknown method GetWorkflowContexts for service proto.WorkflowService"),
      date: "Sat, 21 Nov 2020 16:13:07 GMT",
    });

    const found = await check(address);

    expect(found).toMatchObject([{ state: "ok" }, { state: "warning", cause: "clock-differs" }]);
    expect(found[1]?.detail).toContain("its clock says 2020-11-21T16:13:07Z");
  });
});

it("an aborted check rejects with the reason and disconnects from the server", async () => {
  const accepted = Promise.withResolvers<Socket>();
  const address = await listening(createTcpServer((socket) => accepted.resolve(socket)));
  const stop = new AbortController();
  const config = {
    server: address,
    tls: false,
    insecureTls: false,
    pollTimeoutMs: 75_000,
    api: "auto",
  } as const;

  const checking = checkServer(config, TIMEOUT_MS, stop.signal);
  const socket = (await accepted.promise).resume();
  stop.abort(new Error("stopped by SIGINT"));

  await expect(checking).rejects.toThrow("stopped by SIGINT");
  if (!socket.closed) await once(socket, "close");
});
