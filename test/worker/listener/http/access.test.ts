import { once } from "node:events";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp } from "node:net";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import { Secret } from "../../../../shared/secret.ts";
import { type Certificate, createCertificate } from "../../../../simulators/certificate.ts";
import type { WatchedFileName } from "../../../../worker/config/reload.ts";
import { Access } from "../../../../worker/listener/http/access.ts";
import { type HttpLimits, HttpListener } from "../../../../worker/listener/http/http-listener.ts";
import type { HttpFiles } from "../../../../worker/listener/http/http-settings.ts";
import type { Route } from "../../../../worker/listener/http/route.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const OTHER = "fedcba9876543210fedcba9876543210";

const authority = createCertificate({ commonName: "visitors", authority: true });
const visitor = createCertificate({ commonName: "prometheus", issuer: authority });
const stranger = createCertificate({ commonName: "stranger" });
const altNames = ["127.0.0.1"];
const server = createCertificate({ commonName: "worker", altNames });
const renewed = createCertificate({ commonName: "worker", altNames });

const tokens = (...lines: readonly string[]): HttpFiles => ({
  token: { path: "token", text: new Secret(`${lines.join("\n")}\n`) },
});
const tls: HttpFiles = {
  certificate: { path: "tls.crt", text: server.cert },
  key: { path: "tls.key", text: new Secret(server.key) },
};
const clientCa: HttpFiles = { ca: { path: "ca.crt", text: authority.cert } };

const page: Route = { path: "/", handle: (_, response) => void response.end("page\n") };
const health: Route = {
  path: "/healthz",
  open: true,
  handle: (_request, response, _url, granted) => void response.end(granted ? "with reasons" : "without"),
};
const stream: Route = {
  path: "/events",
  handle: (_, response) => void response.writeHead(200).write("first\n"),
};

const opened: HttpListener[] = [];
afterEach(async () => {
  for (const listener of opened.splice(0)) await listener.close();
});

async function serving(files: HttpFiles, limits: Partial<HttpLimits> = {}) {
  const onDisk = new Map<string, string>([
    ["tls.crt", server.cert],
    ["tls.key", server.key],
  ]);
  const access = new Access(files, (path) => onDisk.get(path) ?? "");
  const listener = new HttpListener({ routes: [page, health, stream], log: silentLogger, access, limits });
  await listener.listen({ host: "127.0.0.1", port: 0 });
  opened.push(listener);
  return {
    url: listener.url,
    port: listener.address.port,
    /** Changes a file and reloads it, like the worker. */
    change(name: WatchedFileName, text: string) {
      const file = access.watchedFiles().find((watched) => watched.name === name);
      if (!file) throw new Error(`${name} is not watched`);
      onDisk.set(file.path, text);
      return file.take(text);
    },
  };
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One request over a connection of its own, for which the server's certificate must be the given one. */
async function get(
  url: string,
  options: { readonly authorization?: string; readonly client?: Certificate; readonly ca?: string } = {},
): Promise<Answer> {
  const { authorization, client, ca = server.cert } = options;
  const request = (url.startsWith("https:") ? httpsRequest : httpRequest)(url, {
    ...{ agent: false, headers: authorization === undefined ? {} : { authorization } },
    ...{ ca, ...client },
  });
  request.end();
  const [response] = await once(request, "response");
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += part;
  return { status: response.statusCode, headers: response.headers, text };
}

const statusOf = async (...asked: Parameters<typeof get>) => (await get(...asked)).status;
const basic = (pair: string) => `Basic ${Buffer.from(pair).toString("base64")}`;

describe("a token", () => {
  test.each([
    [`Bearer ${TOKEN}`, 200],
    [`bearer ${OTHER}`, 200],
    [basic(`admin:${TOKEN}`), 200],
    [basic(`:${TOKEN}`), 200],
    [undefined, 401],
    ["Bearer", 401],
    [`Bearer ${TOKEN.slice(1)}`, 401],
    [`Bearer ${TOKEN}0`, 401],
    [`Bearer ${TOKEN}, ${OTHER}`, 401],
    [`Digest ${TOKEN}`, 401],
    [basic(TOKEN), 401],
    [basic(`${TOKEN}:admin`), 401],
    [`Bearer ${TOKEN}\n${OTHER}`.replace("\n", "%0A"), 401],
  ])("%s gets %s", async (authorization, status) => {
    const { url } = await serving(tokens(TOKEN, "", OTHER));

    expect(await statusOf(url, authorization === undefined ? {} : { authorization })).toBe(status);
  });

  test("is asked for in a way that makes a browser ask for a password", async () => {
    const { url } = await serving(tokens(TOKEN));

    const { headers, text } = await get(url);

    expect(headers["www-authenticate"]).toBe(
      'Bearer realm="pbnj-worker", Basic realm="pbnj-worker", charset="UTF-8"',
    );
    expect([headers["cache-control"], headers["access-control-allow-origin"]]).toEqual([
      "no-store",
      undefined,
    ]);
    expect(text).not.toContain("page");
  });

  test("is needed before anything is said about a path, and not by health probes", async () => {
    const { url } = await serving(tokens(TOKEN));
    const authorization = `Bearer ${TOKEN}`;

    expect(await statusOf(`${url}/nothing`)).toBe(401);
    expect(await statusOf(`${url}/nothing`, { authorization })).toBe(404);
    expect(await get(`${url}/healthz`)).toMatchObject({ status: 200, text: "without" });
    expect(await get(`${url}/healthz`, { authorization })).toMatchObject({ text: "with reasons" });
  });

  test("that is revoked ends the streams that it opened, and no others", async () => {
    const { url, change } = await serving(tokens(TOKEN, OTHER));
    const open = async (token: string) => {
      const response = await fetch(`${url}/events`, { headers: { authorization: `Bearer ${token}` } });
      const reader = response.body?.getReader();
      await reader?.read();
      return reader;
    };
    const revoked = await open(TOKEN);
    const kept = await open(OTHER);

    expect(change("http-token-file", `${OTHER}\n`)).toMatchObject({ ok: true });

    await expect(revoked?.read()).rejects.toThrow();
    const quiet = Promise.race([kept?.read(), new Promise((resolve) => setTimeout(resolve, 50, "open"))]);
    expect(await quiet).toBe("open");
    expect(await statusOf(url, { authorization: `Bearer ${TOKEN}` })).toBe(401);
  });

  test.each([
    ["", "is empty"],
    ["short\n", "has no token on line 1: 16 to 512 letters"],
    [`${TOKEN}\ntwo words are no token\n`, "has no token on line 2"],
    [`${TOKEN}\n`.repeat(17), "holds more than 16 tokens"],
  ])("file that becomes %j leaves the last good one in force", async (text, message) => {
    const { url, change } = await serving(tokens(TOKEN));

    expect(change("http-token-file", text)).toMatchObject({
      ok: false,
      problems: [{ source: "token", message: expect.stringContaining(message) }],
    });
    expect(await statusOf(url, { authorization: `Bearer ${TOKEN}` })).toBe(200);
  });
});

describe("TLS", () => {
  test("is served from 1.2 on", async () => {
    const { port } = await serving(tls);
    const versionOf = async (options: ConnectionOptions) => {
      const socket = connectTls({ host: "127.0.0.1", port, ca: server.cert, ...options });
      await once(socket, "secureConnect");
      const version = socket.getProtocol();
      socket.destroy();
      return version;
    };

    expect(await versionOf({})).toBe("TLSv1.3");
    expect(await versionOf({ maxVersion: "TLSv1.2" })).toBe("TLSv1.2");
    await expect(
      versionOf({ minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }),
    ).rejects.toThrow(/alert|version/i);
  });

  test("has the new certificate once both of its files have changed", async () => {
    const { url, change } = await serving(tls);

    expect(change("http-cert-file", renewed.cert)).toMatchObject({
      ok: false,
      problems: [{ source: "tls.crt", message: "does not belong to tls.key" }],
    });
    expect(await statusOf(url)).toBe(200);

    expect(change("http-key-file", renewed.key)).toMatchObject({ ok: true });

    expect(await statusOf(url, { ca: renewed.cert })).toBe(200);
    await expect(get(url)).rejects.toThrow(/self-signed|verify/);
  });

  test("serves the next client after one that speaks no TLS, and one that says nothing", async () => {
    const { url, port } = await serving(tls, { headersTimeoutMs: 200 });
    const silent = connectTcp(port);
    const plain = get(`http://127.0.0.1:${port}/`);

    await expect(plain).rejects.toThrow();
    await once(silent, "close");

    expect(await statusOf(url)).toBe(200);
  });

  test("does not add connections: the oldest one goes, and a new one is served", async () => {
    const { url, port } = await serving(tls, { connections: 2 });
    const sockets: TLSSocket[] = [];
    for (let index = 0; index < 2; index += 1) {
      const socket = connectTls({ host: "127.0.0.1", port, ca: server.cert });
      socket.on("error", () => undefined);
      await once(socket, "secureConnect");
      sockets.push(socket);
    }

    expect(await statusOf(url)).toBe(200);

    expect(sockets.map(({ closed, destroyed }) => closed || destroyed)).toEqual([true, false]);
    for (const socket of sockets) socket.destroy();
  });
});

describe("a client certificate", () => {
  test("opens the pages when its authority is the configured one, and health needs none", async () => {
    const { url } = await serving({ ...tls, ...clientCa });

    expect(await statusOf(url, { client: visitor })).toBe(200);
    expect(await get(url, { client: stranger })).toMatchObject({
      status: 403,
      text: "a client certificate is required\n",
    });
    expect(await statusOf(url)).toBe(403);
    expect(await statusOf(`${url}/healthz`)).toBe(200);
  });

  test("does in place of a token", async () => {
    const { url } = await serving({ ...tls, ...clientCa, ...tokens(TOKEN) });

    expect(await statusOf(url, { client: visitor })).toBe(200);
    expect(await statusOf(url, { client: stranger, authorization: `Bearer ${TOKEN}` })).toBe(200);
    expect(await statusOf(url, { client: stranger })).toBe(401);
  });

  test("of an authority that is replaced loses its connections, and resumes no session", async () => {
    const { url, port, change } = await serving({ ...tls, ...clientCa });
    const options = { host: "127.0.0.1", port, ca: server.cert, ...visitor };
    const socket = connectTls(options);
    socket.on("error", () => undefined);
    const sessions: Buffer[] = [];
    socket.on("session", (session: Buffer) => sessions.push(session));
    socket.write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(socket, "data");
    const closed = once(socket, "close");

    expect(change("http-client-ca-file", stranger.cert)).toMatchObject({ ok: true });

    await closed;
    const session = sessions.at(-1);
    expect(session).toBeDefined();
    const again = connectTls({ ...options, ...(session && { session }) });
    again.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const [answer] = await once(again.setEncoding("utf8"), "data");
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(again.isSessionReused()).toBe(false);
    again.destroy();
    expect(await statusOf(url, { client: visitor })).toBe(403);
  });
});
