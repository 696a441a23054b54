import { once } from "node:events";
import { createServer as createHttp, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer as createTls } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { Secret } from "../../../../shared/secret.ts";
import { textOf } from "../../../../shared/text-of.ts";
import { createCertificate } from "../../../../simulators/certificate.ts";
import { createDialer, type ServerOptions } from "../../../../worker/sources/grpc/dial.ts";
import { isDirect } from "../../../../worker/sources/grpc/http-proxy.ts";

const NEVER = new AbortController().signal;
const servers: Server[] = [];
/** Not loopback for the dialer; the proxy of the tests leads there. */
const HOST = "tink.example";

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

describe("what is reached without the proxy", () => {
  it.each([
    ["", "tink.example", false],
    ["*", "tink.example", true],
    ["example", "tink.example", true],
    [".example", "tink.example", true],
    ["*.example", "tink.example", true],
    ["other, tink.example", "TINK.example.", true],
    ["ink.example", "tink.example", false],
    ["tink.example:42113", "tink.example", true],
    ["tink.example:443", "tink.example", false],
    ["192.0.2.0/24", "192.0.2.7", true],
    ["192.0.2.7", "192.0.2.7", true],
    ["192.0.2.7:42113 192.0.3.0/24", "192.0.2.7", true],
    ["192.0.3.0/24", "192.0.2.7", false],
    ["192.0.2.0/99", "192.0.2.7", false],
    ["2001:db8::/32", "2001:db8::1", true],
    ["[2001:db8::1]:42113", "2001:db8::1", true],
    ["fe80::1", "fe80::1%eth0", true],
    ["", "127.0.0.2", true],
    ["", "::1", true],
    ["", "localhost", true],
  ])("%j and %s: %s", (noProxy, host, direct) => {
    expect(isDirect(noProxy, { host, port: 42_113 })).toBe(direct);
  });
});

it.each([true, false])(
  "a server is dialled through the proxy, with its name and the proxy's login (TLS: %s)",
  async (tls) => {
    const { cert, key } = createCertificate({ commonName: HOST, altNames: [HOST] });
    const greet = (socket: Duplex) => socket.end("hello");
    const port = await listening(
      tls ? createTls({ cert, key, ALPNProtocols: ["h2"] }, greet) : createServer(greet),
    );
    const asked: IncomingMessage[] = [];
    const proxyPort = await proxyThat((request, socket) => {
      asked.push(request);
      const behind = connect(port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        behind.pipe(socket).pipe(behind);
      });
    });

    const socket = await dial(`http://user:p%40ss@127.0.0.1:${proxyPort}`, { tls, ca: cert });
    const heard = (await once(socket, "data")).toString();

    expect(heard).toBe("hello");
    expect(asked[0]?.url).toBe(`${HOST}:42113`);
    expect(asked[0]?.headers["proxy-authorization"]).toBe(
      `Basic ${Buffer.from("user:p@ss").toString("base64")}`,
    );
  },
);

it("a tunnel outlives the time that its proxy had for the answer", async () => {
  const port = await proxyThat((_, socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    socket.once("data", (data) => socket.write(data));
  });

  const socket = await dial(`http://127.0.0.1:${port}`, { connectTimeoutMs: 1_000 });
  await sleep(1_200);
  socket.write("still here");

  expect((await once(socket, "data")).toString()).toBe("still here");
  socket.destroy();
});

it("a proxy that refuses is named, without its password, even if it repeats the login", async () => {
  const port = await proxyThat(({ headers }, socket) => {
    socket.end(`HTTP/1.1 407 ${headers["proxy-authorization"]} canary\r\n\r\n`);
  });

  const dialled = dial(`http://user:canary@127.0.0.1:${port}`);

  const reason = await dialled.then(() => "", textOf);
  expect(reason).toContain(
    `the proxy http://127.0.0.1:${port} answers 407 Basic [redacted] [redacted] to CONNECT tink.example:42113`,
  );
});

it.each([
  ["accepts and says nothing", (socket: Duplex) => socket.resume(), "does not answer within 300 ms"],
  ["closes", (socket: Duplex) => socket.destroy(), "cannot be used: "],
  ["speaks something else", (socket: Duplex) => socket.end("SSH-2.0-OpenSSH\r\n"), "cannot be used: "],
])("a proxy that %s fails within its time", async (_, behave, why) => {
  const port = await listening(createServer(behave));

  await expect(dial(`http://127.0.0.1:${port}`, { connectTimeoutMs: 300 })).rejects.toThrow(
    `the proxy http://127.0.0.1:${port} ${why}`,
  );
});

async function dial(url: string, options: Partial<ServerOptions> = {}) {
  const proxy = { url: new Secret(url), noProxy: "" };
  const dialer = createDialer({ server: HOST, tls: false, proxy, ...options });
  return dialer.dial(NEVER);
}

function proxyThat(behave: (request: IncomingMessage, socket: Duplex) => void): Promise<number> {
  return listening(createHttp().on("connect", behave));
}

async function listening(server: Server): Promise<number> {
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
