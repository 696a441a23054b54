import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { gzipSync } from "node:zlib";
import { Code, createClient } from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { Machine } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import type { ApiFiles } from "../../../../../worker/features/pbnj/pbnj-settings.ts";
import { RawClient, requestText } from "../../../listener/http/raw-client.ts";
import { client, clientCa, jwt, ON, POWER, server, serving, tls, token } from "./serving.ts";

const SHORT = 100;
const quick = {
  headersTimeoutMs: SHORT,
  bodyTimeoutMs: SHORT,
  callTimeoutMs: SHORT,
  keepAliveMs: SHORT,
  idleMs: SHORT,
};
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const EMPTY_SETTINGS = "\0\0\0\x04\0\0\0\0\0";

/** `POST /` of localhost, in indexed header fields (RFC 7541 appendix A). */
const HEADERS = Buffer.from("\x83\x87\x84\x41\x09localhost", "latin1");
const CANCEL = Buffer.from([0, 0, 0, 8]);

function http2Frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** Connects with TLS if the API uses it, and offers HTTP/2 if `said` is an HTTP/2 preface. */
const raw = ({ url, port }: { readonly url: string; readonly port: number }, said = "") => {
  const protocol = said.startsWith("PRI") ? "h2" : "http/1.1";
  const secure = url.startsWith("https:") ? { ca: server.cert, ALPNProtocols: [protocol] } : undefined;
  return RawClient.open({ host: "127.0.0.1", port }, secure);
};

async function http2(api: { readonly url: string }): Promise<ClientHttp2Session & Disposable> {
  const session = connectHttp2(api.url, { ca: server.cert });
  session.on("error", () => undefined);
  await once(session, "connect");
  return Object.assign(session, { [Symbol.dispose]: () => session.destroy() });
}

/** A call of `Health/Watch`: whether it was answered. */
function watch(session: ClientHttp2Session) {
  const path = "/grpc.health.v1.Health/Watch";
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  stream.on("error", () => undefined);
  stream.end(Buffer.alloc(5));
  const outcome = new Promise<string>((resolve) => {
    stream.once("data", () => resolve("served"));
    stream.once("close", () =>
      resolve(stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ? "refused" : "ended"),
    );
  });
  return { outcome, end: () => stream.close(constants.NGHTTP2_CANCEL) };
}

test("a connection closes without a TLS handshake", async () => {
  await using api = await serving({ files: tls, limits: quick });
  await using client = await RawClient.open({ host: "127.0.0.1", port: api.port });

  await client.closed;
});

describe.each<[name: string, files: ApiFiles]>([
  ["plaintext", {}],
  ["TLS", tls],
])("with %s, a connection closes", (_, files) => {
  test.each<[name: string, said: string]>([
    ["that says nothing", ""],
    ["that stops within the HTTP/2 preface", PREFACE.slice(0, 10)],
    ["that stops after the HTTP/2 preface", PREFACE + EMPTY_SETTINGS],
    ["whose headers do not end", `POST ${POWER} HTTP/1.1\r\nHost: localhost\r\n`],
    [
      "whose body does not arrive",
      `POST ${POWER} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    ],
    [
      "whose body does not arrive and has no method",
      `POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{`,
    ],
    [
      "whose call takes too long",
      `POST ${POWER} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"powerAction":4}`,
    ],
    [
      "that sends a second request before the answer",
      `POST ${POWER} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"powerAction":4}GET / HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    ],
    ["that asks for a tunnel", "CONNECT other:1 HTTP/1.1\r\nHost: other:1\r\n\r\n"],
    ["that speaks no HTTP", "\x16\x03\x01\r\n\r\n"],
  ])("%s", async (_, said) => {
    await using api = await serving({ files, limits: quick });
    await using client = await raw(api, said);

    client.say(said);

    await client.closed;
  });

  test("that drips its second headers", async () => {
    await using api = await serving({ files, limits: { ...quick, headersTimeoutMs: 1_000 } });
    await using client = await raw(api);
    client.say(`POST ${POWER} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n`);
    await once(client.socket, "data");
    const dripping = setInterval(() => client.say("a"), 20);

    await client.closed;

    clearInterval(dripping);
  });

  test("with an open HTTP/2 request whose body does not arrive loses that request only", async () => {
    await using api = await serving({ files, limits: { bodyTimeoutMs: SHORT } });
    using session = await http2(api);
    const stream = session.request({ ":method": "POST", ":path": POWER, "content-type": "application/grpc" });
    stream.on("error", () => undefined);

    await once(stream, "close");

    expect(stream.rstCode).not.toBe(0);
    expect(session.closed).toBe(false);
  });
});

test("an HTTP/2 preface in pieces is recognized", async () => {
  await using api = await serving();
  await using client = await raw(api);
  for (const byte of PREFACE) {
    client.say(byte);
    await pause(1);
  }
  client.say(EMPTY_SETTINGS);

  await once(client.socket, "data");

  // A SETTINGS frame.
  expect(client.heard.charCodeAt(3)).toBe(4);
});

describe("too much is refused:", () => {
  const LARGE = JSON.stringify({ vendor: { name: "x".repeat(70_000) } });

  test("a message", async () => {
    await using api = await serving();

    expect(await api.post(POWER, LARGE)).toMatchObject({
      status: 429,
      text: expect.stringContaining("resource_exhausted"),
    });
    const machine = createClient(Machine, api.grpc());
    await expect(machine.power(JSON.parse(LARGE))).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  test("a message that is large when decompressed", async () => {
    await using api = await serving();
    const bomb = gzipSync(LARGE).toString("latin1");
    await using client = await raw(api);
    const headers = [
      "Content-Type: application/json",
      "Content-Encoding: gzip",
      `Content-Length: ${bomb.length}`,
    ];
    client.socket.write(Buffer.from(requestText("POST", POWER, headers) + bomb, "latin1"));
    await client.closed;
    expect(client.heard).toContain("resource_exhausted");

    const transport = api.grpc({ sendCompression: compressionGzip, compressMinBytes: 0 });
    await expect(createClient(Machine, transport).power(JSON.parse(LARGE))).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
  });

  test.each<[name: string, files: ApiFiles]>([
    ["plaintext", {}],
    ["TLS", tls],
  ])("a second host, with %s", async (_, files) => {
    await using api = await serving({ files });
    await using client = await raw(api);

    client.say(
      `POST ${POWER} HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n`,
    );
    await client.closed;

    expect(client.heard).toContain("400 Bad Request");
  });

  test.each<[name: string, files: ApiFiles]>([
    ["plaintext", jwt],
    ["TLS", { ...jwt, ...tls }],
  ])("streams without credentials, with %s: a few per connection, and a number of all", async (_, files) => {
    const strangers = { calls: 32, streaming: 2, callsOfAll: 512, streamingOfAll: 3 };
    await using api = await serving({ files, limits: { strangers } });
    using first = await http2(api);
    using second = await http2(api);
    const watches = [first, first, first, second, second].map((session) => watch(session));

    const answers = await Promise.all(watches.map(({ outcome }) => outcome));

    expect(answers).toEqual(["served", "served", "refused", "served", "refused"]);
    const headers = { authorization: `Bearer ${await token()}` };
    await createClient(Machine, api.grpc()).power({ powerAction: 1 }, { headers });
    watches[0]?.end();
    await expect.poll(() => watch(second).outcome).toBe("served");
  });

  test("calls without credentials that never end", async () => {
    const strangers = { calls: 3, streaming: 2, callsOfAll: 4, streamingOfAll: 3 };
    await using api = await serving({ files: jwt, limits: { strangers } });
    using first = await http2(api);
    using second = await http2(api);
    const held = [first, first, first, first, second, second].map((session) => {
      const stream = session.request({ ":method": "POST", ":path": POWER });
      stream.on("error", () => undefined);
      return new Promise((resolve) => stream.once("close", () => resolve(stream.rstCode)));
    });

    const refused = await Promise.all([held[3], held[5]]);

    expect(refused).toEqual([constants.NGHTTP2_REFUSED_STREAM, constants.NGHTTP2_REFUSED_STREAM]);
    // They keep no new client out.
    const headers = { authorization: `Bearer ${await token()}` };
    await createClient(Machine, api.grpc()).power({ powerAction: 1 }, { headers });
  });

  test("headers", async () => {
    await using api = await serving();
    const headers = { "x-large": "x".repeat(20_000) };

    expect(await api.post(POWER, ON, { headers })).toMatchObject({ status: 431 });
    await expect(createClient(Machine, api.grpc()).power({}, { headers })).rejects.toThrow();
  });
});

describe.each<[name: string, files: ApiFiles]>([
  ["plaintext", {}],
  ["TLS", tls],
])("with %s, other clients are served", (_, files) => {
  test("when connections are exhausted, and a client with a token keeps its connection", async () => {
    await using api = await serving({ files: { ...jwt, ...files }, limits: { connections: 3 } });
    const headers = { authorization: `Bearer ${await token()}` };
    const machine = createClient(Machine, api.grpc());
    await machine.power({ powerAction: 1 }, { headers });
    const call = machine.power({ powerAction: 4 }, { headers });
    let isOpen = true;
    const ended = call.catch(() => {
      isOpen = false;
    });
    const flood = [];
    for (let count = 0; count < 8; count += 1) {
      flood.push(await RawClient.open({ host: "127.0.0.1", port: api.port }));
    }

    expect(await api.post(POWER, ON, { headers })).toMatchObject({ status: 200 });
    expect(isOpen).toBe(true);

    for (const client of flood) await client[Symbol.asyncDispose]();
    await api.close();
    await ended;
  });

  test("while one resets requests without end, which loses its connection", async () => {
    await using api = await serving({ files });
    await using client = await raw(api, PREFACE);
    client.say(PREFACE + EMPTY_SETTINGS);
    for (let stream = 1; stream < 1_000; stream += 2) {
      client.socket.write(
        Buffer.concat([http2Frame(1, 4, stream, HEADERS), http2Frame(3, 0, stream, CANCEL)]),
      );
    }

    expect(await api.post(POWER, ON)).toMatchObject({ status: 200 });
    await client.closed;
    expect(await api.post(POWER, ON)).toMatchObject({ status: 200 });
  });

  test("while one holds all streams of its connection", async () => {
    await using api = await serving({ limits: { streams: 2 } });
    const machine = createClient(Machine, api.grpc());
    await machine.power({ powerAction: 1 });
    const held = [1, 2, 3].map(() => machine.power({ powerAction: 4 }).catch(() => undefined));

    await expect(createClient(Machine, api.grpc()).power({ powerAction: 1 })).resolves.toBeDefined();

    await api.close();
    await Promise.all(held);
  });
});

test("a client certificate is its connection's alone, not that of the address and port", async () => {
  const address = { host: "0.0.0.0", port: 0 };
  await using api = await serving({ address, files: { ...tls, ...clientCa } });
  const body = `POST ${POWER} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${ON.length}\r\n\r\n${ON}`;
  const open = async (host: string, localPort: number, more: object) => {
    const options = { host, port: api.port, localAddress: "127.0.0.1", ca: server.cert, ...more };
    const socket = connectTls({
      ...options,
      ...(localPort > 0 && { localPort }),
      checkServerIdentity: () => undefined,
    });
    await once(socket, "secureConnect");
    return socket;
  };
  const alice = await open("127.0.0.1", 0, client);
  const mallory = await open("127.0.0.2", alice.localPort ?? 0, {});
  const answers = [alice, mallory].map(async (socket) => {
    socket.write(body);
    const [answer] = await once(socket, "data");
    return String(answer).split("\r\n", 1)[0];
  });

  expect(await Promise.all(answers)).toEqual(["HTTP/1.1 200 OK", "HTTP/1.1 401 Unauthorized"]);

  for (const socket of [alice, mallory]) socket.destroy();
});
