import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { Agent, fetch } from "undici";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RequestReader } from "./request-reader.ts";
import { startTcpProxy, type TcpProxy, type TcpProxyOptions } from "./tcp-proxy.ts";
import { startUdpProxy, type UdpProxyOptions } from "./udp-proxy.ts";

/** A new agent for each test, because ports of earlier tests may be used again. */
let agent: Agent;
const opened: (() => Promise<void>)[] = [];
beforeEach(() => {
  agent = new Agent();
});
afterEach(async () => {
  await agent.destroy();
  for (const close of opened.splice(0).reverse()) await close();
});

/** A server that says how many requests it has carried out, behind a proxy. */
async function web(options: Omit<TcpProxyOptions, "port"> = {}) {
  const seen: string[] = [];
  const server: Server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    request.resume().on("end", () => response.end(`answer number ${seen.length}`));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const proxy = await startTcpProxy({ port: address.port, ...options });
  opened.push(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  opened.push(() => proxy.close());
  return { proxy, seen, port: address.port };
}

const ask = async ({ port }: TcpProxy, init: Parameters<typeof fetch>[1] = {}) => {
  const limits = { signal: AbortSignal.timeout(10_000), dispatcher: agent };
  const answer = await fetch(`http://127.0.0.1:${port}/a`, { ...limits, ...init });
  return answer.text();
};

describe("the TCP proxy", () => {
  test("delays both directions, and adds a round trip for a new connection", async () => {
    const { proxy } = await web({ latencyMs: 50 });
    const startedMs = performance.now();

    await ask(proxy);

    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(190);
  });
});

test("the request reader joins requests that arrive in pieces and splits those that arrive together", () => {
  const reader = new RequestReader();
  const bytes = Buffer.from("POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\n\r\n");

  const read = [bytes.subarray(0, 20), bytes.subarray(20, 41), bytes.subarray(41)].flatMap((part) =>
    reader.read(part),
  );

  expect(read.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /a", "GET /b"]);
  expect(Buffer.concat(read.map((request) => request.bytes))).toEqual(bytes);
});

/** A server that sends back what it gets, behind a relay, and a client that keeps what arrives. */
async function echo(options: Omit<UdpProxyOptions, "port"> = {}) {
  const server = createSocket("udp4");
  server.on("message", (datagram, { port }) => server.send(datagram, port, "127.0.0.1"));
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  const relay = await startUdpProxy({ port: server.address().port, ...options });
  const client = createSocket("udp4");
  const received: string[] = [];
  client.on("message", (datagram) => received.push(datagram.toString()));
  opened.push(async () => void server.close());
  opened.push(async () => void client.close());
  opened.push(() => relay.close());
  return {
    relay,
    received,
    send: (text: string) => client.send(text, relay.port, "127.0.0.1"),
    until: (count: number) => expect.poll(() => received.length, { timeout: 10_000 }).toBe(count),
  };
}

describe("the UDP relay", () => {
  test("counts packets each way, and packets sent together as one round trip", async () => {
    const { relay, send, until } = await echo({ network: { latencyMs: 20 } });

    send("a");
    send("b");
    await until(2);
    send("c");
    await until(3);

    expect(relay.packets).toEqual({ up: 3, down: 3 });
    expect(relay.roundTrips).toBe(2);
  });

  test("loses about the configured share, the same ones each time", async () => {
    const lossOf = async () => {
      const { relay, received, send } = await echo({ network: { loss: 0.2, seed: 7 } });
      for (let i = 0; i < 100; i += 1) {
        send(String(i));
        await expect.poll(() => relay.packets.up, { interval: 1 }).toBe(i + 1);
      }
      send("last");
      await new Promise((resolve) => setTimeout(resolve, 50));
      return received;
    };

    const first = await lossOf();

    expect(first.length).toBeGreaterThan(45);
    expect(first.length).toBeLessThan(85);
    expect(await lossOf()).toEqual(first);
  });

  test("replaces a datagram by others", async () => {
    const { send, received, until } = await echo({
      rewrite: (datagram, direction) =>
        direction === "down" ? [Buffer.from("forged"), datagram] : [datagram],
    });

    send("true");
    await until(2);

    expect(received).toEqual(["forged", "true"]);
  });

  test("drops everything while it is cut", async () => {
    const { relay, received, send, until } = await echo();

    relay.cut();
    send("lost");
    await expect.poll(() => relay.packets.up).toBe(1);
    relay.restore();
    send("found");
    await until(1);

    expect(received).toEqual(["found"]);
  });
});
