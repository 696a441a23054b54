import { afterEach, describe, expect, test } from "vitest";
import { type HttpLimits, HttpListener, serveHttp } from "../../../../worker/listener/http/http-listener.ts";
import type { Route } from "../../../../worker/listener/http/route.ts";
import { keptLog } from "../../../support/kept-log.ts";
import { exchange, RawClient, requestText } from "./raw-client.ts";

const LOCAL = { host: "127.0.0.1", port: 0 };

const opened: HttpListener[] = [];
afterEach(async () => {
  for (const listener of opened.splice(0)) await listener.close();
});

const hello: Route = { path: "/hello", handle: (_, response) => void response.end("hello\n") };

async function listening(
  routes: readonly Route[] = [hello],
  limits: Partial<HttpLimits> = {},
  address = LOCAL,
) {
  const { log, said } = keptLog();
  const listener = new HttpListener({ routes, log, limits });
  await listener.listen(address);
  opened.push(listener);
  return { listener, address: listener.address, url: listener.url, said };
}

/** The first line of an answer. */
const statusOf = (text: string) => text.split("\r\n")[0];

describe("what is served", () => {
  test("is found by its path, whatever the query", async () => {
    const byPattern: Route = {
      path: /^\/log\/[a-z]+$/g,
      handle: (_, response, url) => void response.end(`${url.pathname} ${url.searchParams.get("q")}`),
    };
    const { url } = await listening([hello, byPattern]);

    const texts = ["/hello?x=1", "/log/abc?q=1", "/log/abd?q=2"].map(async (path) =>
      (await fetch(`${url}${path}`)).text(),
    );

    expect(await Promise.all(texts)).toEqual(["hello\n", "/log/abc 1", "/log/abd 2"]);
  });

  test("says what browsers must not do with it, and lets a route say otherwise", async () => {
    const own: Route = {
      path: "/own",
      handle(_, response) {
        response.setHeader("Content-Security-Policy", "default-src 'self'");
        response.end();
      },
    };
    const { url } = await listening([hello, own]);

    const plain = (await fetch(`${url}/hello`)).headers;
    const { headers } = await fetch(`${url}/own`);

    expect(Object.fromEntries(plain)).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
    });
    expect(headers.get("content-security-policy")).toBe("default-src 'self'");
  });

  test("to HEAD has the headers and no body, and a stream ends at once", async () => {
    const stream: Route = {
      path: "/stream",
      handle: (_, response) => void response.writeHead(200).write("x"),
    };
    const { address } = await listening([hello, stream]);

    const answer = await exchange(address, requestText("HEAD", "/hello"));
    const streamed = await exchange(address, requestText("HEAD", "/stream"));

    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n(.+\r\n)+\r\n$/);
    expect(streamed).toMatch(/^HTTP\/1.1 200 OK\r\n(.+\r\n)+\r\n$/);
  });
});

describe("what is not served", () => {
  test.each([
    ["an unknown path", requestText("GET", "/other"), "404 Not Found", "nothing is here"],
    ["a path that looks like a host", requestText("GET", "//hello"), "404 Not Found", "nothing is here"],
    ["another method", requestText("POST", "/hello"), "405 Method Not Allowed", "only GET and HEAD"],
    ["a body", requestText("GET", "/hello", ["Content-Length: 5"]), "400 Bad Request", "with a body"],
    [
      "a body in chunks",
      requestText("GET", "/hello", ["Transfer-Encoding: chunked"]),
      "400 Bad Request",
      "with a body",
    ],
    ["no path", requestText("GET", "*"), "400 Bad Request", "not a path"],
    ["no HTTP", "\x16\x03\x01\x02\x00\x01\x00", "400 Bad Request", ""],
    [
      "a request with two hosts",
      requestText("GET", "/hello", ["Host: evil.example"]),
      "400 Bad Request",
      "several hosts",
    ],
    [
      "the URL of another host",
      requestText("GET", "http://evil.example/hello"),
      "403 Forbidden",
      "to this machine alone",
    ],
    ["a request without a host", "GET /hello HTTP/1.1\r\n\r\n", "400 Bad Request", ""],
    [
      "headers without end",
      requestText("GET", "/hello", [`Cookie: ${"x".repeat(9_000)}`]),
      "431 Request Header Fields Too Large",
      "",
    ],
  ])("%s is refused in one line", async (_, request, status, text) => {
    const { address } = await listening();

    const answer = await exchange(address, request);

    expect(statusOf(answer)).toBe(`HTTP/1.1 ${status}`);
    expect(answer.split("\r\n\r\n")[1]).toContain(text);
  });

  test("other methods are told which there are", async () => {
    const { url } = await listening();

    const { status, headers } = await fetch(`${url}/hello`, { method: "DELETE" });

    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("a page that fails is a line in the log and 500, and the next one is served", async () => {
    const failing: Route = {
      path: "/failing",
      handle(_, response) {
        response.setHeader("Content-Type", "text/html");
        throw new Error("no page today");
      },
    };
    const halfway: Route = {
      path: "/halfway",
      async handle(_, response) {
        response.write("half of i");
        throw new Error("no rest today");
      },
    };
    const { url, said } = await listening([failing, halfway, hello]);

    const answer = await fetch(`${url}/failing`);
    const broken = await fetch(`${url}/halfway`)
      .then((response) => response.text())
      .catch(() => "broken off");

    expect([answer.status, answer.headers.get("content-type")]).toEqual([500, "text/plain; charset=utf-8"]);
    expect(await answer.text()).not.toContain("no page today");
    expect(broken).toBe("broken off");
    const message = "page rendering failed";
    expect(said).toEqual([
      { level: "error", message, fields: { path: "/failing", error: "no page today" } },
      { level: "error", message, fields: { path: "/halfway", error: "no rest today" } },
    ]);
    expect((await fetch(`${url}/hello`)).status).toBe(200);
  });
});

describe("a web page elsewhere whose name was pointed here", () => {
  test.each([
    ["localhost:9999", 200],
    ["127.0.0.1", 200],
    ["127.1.2.3:80", 200],
    ["[::1]:42180", 200],
    ["worker.localhost", 200],
    ["evil.example", 403],
    ["localhost.evil.example", 403],
    ["127.0.0.1.evil.example", 403],
    ["192.0.2.1", 403],
    ["", 403],
  ])("by the host %s gets %i where the address is this machine's own", async (host, status) => {
    const { address } = await listening();

    const answer = await exchange(
      address,
      `GET /hello HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    );

    expect(statusOf(answer)).toContain(` ${status} `);
  });

  test("cannot be told from a name of this machine where every address is listened on", async () => {
    const { address } = await listening([hello], {}, { host: "0.0.0.0", port: 0 });

    const answer = await exchange(
      { host: "127.0.0.1", port: address.port },
      "GET /hello HTTP/1.1\r\nHost: worker.example\r\nConnection: close\r\n\r\n",
    );

    expect(statusOf(answer)).toBe("HTTP/1.1 200 OK");
  });
});

describe("a client that is slow or means harm", () => {
  test("loses its connection when its headers do not end", async () => {
    const { address, url } = await listening([hello], { headersTimeoutMs: 200 });
    await using client = await RawClient.open(address);
    const drip = setInterval(() => client.say("x"), 20);
    client.say("GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");

    await client.closed;
    clearInterval(drip);

    expect(statusOf(client.heard)).toBe("HTTP/1.1 408 Request Timeout");
    expect((await fetch(`${url}/hello`)).status).toBe(200);
  });

  test("loses its connection when it says nothing, or nothing more", async () => {
    const { address } = await listening([hello], { headersTimeoutMs: 200, keepAliveMs: 50 });
    await using silent = await RawClient.open(address);
    await using done = await RawClient.open(address);
    done.say("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");

    await Promise.all([silent.closed, done.closed]);

    expect(done.heard).toContain("hello\n");
  });

  test("loses its connection when it reads nothing of a long answer, however much is still said", async () => {
    let said = 0;
    const { promise: ended, resolve: end } = Promise.withResolvers<number>();
    const endless: Route = {
      path: "/endless",
      handle(_, response) {
        const more = setInterval(() => {
          said += 1;
          response.write("x".repeat(100_000));
        }, 5);
        response.once("close", () => {
          clearInterval(more);
          end(said);
        });
      },
    };
    const { address } = await listening([endless], { silenceMs: 300 });
    await using client = await RawClient.open(address);
    client.socket.pause();
    client.say("GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n");

    expect(await ended).toBeGreaterThan(10);
  });

  test("gets no more room by opening connections: the oldest one goes, and a new one is served", async () => {
    const { address, url } = await listening([hello], { connections: 3 });
    const idle = [];
    for (let index = 0; index < 3; index += 1) idle.push(await RawClient.open(address));

    const { status } = await fetch(`${url}/hello`);
    await idle[0]?.closed;

    expect(status).toBe(200);
    for (const client of idle) await client[Symbol.asyncDispose]();
  });

  test("is answered one request at a time, however many it sends in one packet", async () => {
    let made = 0;
    const slow: Route = {
      path: "/slow",
      async handle(_, response) {
        made += 1;
        await new Promise((resolve) => setImmediate(resolve));
        response.end("made");
      },
    };
    const { address } = await listening([slow]);

    const answer = await exchange(address, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(500));

    expect(made).toBe(1);
    expect(answer.split("HTTP/1.1 ").map((part) => part.slice(0, 3))).toEqual(["", "200", "503"]);
  });

  test("that goes away in the middle of an answer leaves no trace", async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const { promise: gone, resolve: go } = Promise.withResolvers<void>();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const late: Route = {
      path: "/late",
      async handle(_, response) {
        response.once("close", go);
        ask();
        await gone;
        response.write("too late");
        response.end("for you");
        end();
        throw new Error("no such host");
      },
    };
    const { address, url, said } = await listening([late, hello]);
    const client = await RawClient.open(address);
    client.say("GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await asked;

    await client[Symbol.asyncDispose]();
    await over;

    expect((await fetch(`${url}/hello`)).status).toBe(200);
    expect(said).toEqual([]);
  });
});

describe("the end", () => {
  test("comes at once, also for streams and requests that are not complete", async () => {
    const stream: Route = {
      path: "/stream",
      handle: (_, response) => void response.writeHead(200).write("first\n"),
    };
    const { listener, address, url } = await listening([stream]);
    await using streaming = await RawClient.open(address);
    await using half = await RawClient.open(address);
    streaming.say("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    half.say("GET /stream HT");
    await expect.poll(() => streaming.heard).toContain("first\n");

    await listener.close();

    await Promise.all([streaming.closed, half.closed]);
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });
});

describe("an address that is taken", () => {
  test("keeps the worker from starting where it was asked for, in one line", async () => {
    const { address } = await listening();
    const { log } = keptLog();

    const serving = serveHttp({ ...address, required: true }, [], log);

    await expect(serving).rejects.toThrow(
      `cannot listen on 127.0.0.1:${address.port} (http-address): it is in use, by another worker or program`,
    );
  });

  test("is a warning where it is the default", async () => {
    const { address } = await listening();
    const { log, said } = keptLog();

    const serving = await serveHttp({ ...address, required: false }, [], log);

    expect(serving).toBeUndefined();
    expect(said).toEqual([
      {
        level: "warn",
        message: "status page, metrics and health not served",
        fields: {
          address: `127.0.0.1:${address.port}`,
          reason: "it is in use, by another worker or program",
          hint: "give it a free one with --http-address, or off",
        },
      },
    ]);
  });

  test("is said with its name where this machine does not have it", async () => {
    const { log } = keptLog();

    const serving = serveHttp({ host: "2001:db8::1", port: 1, required: true }, [], log);

    await expect(serving).rejects.toThrow(/^cannot listen on \[2001:db8::1\]:1 \(http-address\): /);
  });
});

test("the real port is said, once it listens", async () => {
  const { log, said } = keptLog();

  const listener = await serveHttp({ ...LOCAL, required: true }, [hello], log);
  if (listener) opened.push(listener);

  expect(listener?.address.port).toBeGreaterThan(0);
  expect(said).toEqual([
    {
      ...{ level: "info", message: "serving the status page, metrics and health" },
      fields: { address: listener?.url },
    },
  ]);
});
