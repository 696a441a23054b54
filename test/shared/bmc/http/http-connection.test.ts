import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { HttpConnection, type HttpRequest } from "../../../../shared/bmc/http/http-connection.ts";
import { MOST_INFORMATIONAL_ANSWERS } from "../../../../shared/input-limits.ts";

const NEVER = new AbortController().signal;

describe("a connection", () => {
  it("carries one request at a time, and none that was aborted before its turn", async () => {
    await using peer = await startPeer((socket, text) => {
      setTimeout(() => socket.write(answer(pathOf(text))), 20);
    });
    const cancelled = new AbortController();

    const first = peer.http.send(get("/1"), NEVER);
    const second = peer.http.send(get("/2"), cancelled.signal);
    const third = peer.http.send(get("/3"), NEVER);
    cancelled.abort(new Error("not wanted"));

    await expect(second).rejects.toThrow("not wanted");
    expect(peer.received).toHaveLength(0);
    expect(String((await first).body)).toBe("/1");
    expect(peer.received.map(pathOf)).toEqual(["/1"]);
    expect(String((await third).body)).toBe("/3");
    expect(peer.received.map(pathOf)).toEqual(["/1", "/3"]);
    expect(peer.sockets.length).toBe(1);
    expect(peer.http.roundTrips).toBe(2);
  });

  it("does not take an unsolicited answer for that of the next request", async () => {
    await using peer = await startPeer((socket, text) => {
      socket.write(answer(pathOf(text)) + (peer.received.length === 1 ? answer("unasked") : ""));
    });

    expect(String((await peer.http.send(get("/1"), NEVER)).body)).toBe("/1");
    expect(String((await peer.http.send(get("/2"), NEVER)).body)).toBe("/2");
    expect(peer.sockets.length).toBe(2);
  });

  it("reports a refusal in the middle of an upload, ends the connection, and does not take that for the peer's habit", async () => {
    await using peer = await startPeer((socket, text) => {
      if (text.startsWith("POST")) socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n");
    });

    for (const path of ["/1", "/2"]) {
      const body = new Readable({ read: () => undefined });
      body.push("the first part");
      const answer = await peer.http.send({ ...get(path), method: "POST", body, isWrite: true }, NEVER);
      expect(answer.status).toBe(413);
      await once(peer.sockets.at(-1) as Socket, "close");
      expect(body.destroyed).toBe(true);
    }

    expect(peer.http.keepAlive).toBe(true);
  });

  it.each([
    ["102 Processing", false],
    ["103 Early Hints", true],
  ])("waits through some answers of %s, and not through a flood of them", async (line, isWrite) => {
    const informational = `HTTP/1.1 ${line}\r\n\r\n`;
    await using peer = await startPeer((socket, text) => {
      const times = pathOf(text) === "/flood" ? 10_000 : MOST_INFORMATIONAL_ANSWERS;
      socket.write(informational.repeat(times) + answer("done"));
    });

    const patient = await peer.http.send({ ...get("/1"), isWrite }, NEVER);
    const flooded = peer.http.send({ ...get("/flood"), isWrite }, NEVER);

    expect(String(patient.body)).toBe("done");
    await expect(flooded).rejects.toMatchObject({ class: "protocol", uncertain: isWrite });
    await expect.poll(() => peer.sockets[0]?.destroyed).toBe(true);
  });

  it("ends with the request that it is opened for", async () => {
    // Waits for the peer's part of the TLS handshake.
    await using peer = await startPeer(() => undefined, "https");
    const cancelled = new AbortController();

    const sending = peer.http.send(get("/"), cancelled.signal);
    await expect.poll(() => peer.received.length).toBe(1);
    cancelled.abort(new Error("not wanted"));

    await expect(sending).rejects.toThrow("not wanted");
    await expect.poll(() => peer.sockets[0]?.destroyed).toBe(true);
  });

  it("sends nothing once it is closed", async () => {
    await using peer = await startPeer(() => undefined);

    await peer.http.close();

    await expect(peer.http.send(get("/"), NEVER)).rejects.toMatchObject({ class: "unreachable" });
    expect(peer.sockets.length).toBe(0);
  });
});

function get(path: string): HttpRequest {
  return { method: "GET", path, headers: {}, doing: `GET ${path}`, isWrite: false };
}

function pathOf(request: string): string {
  return request.split(" ")[1] ?? "";
}

function answer(text: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
}

/** A TCP peer that hands each piece that it receives to `onData`. */
async function startPeer(onData: (socket: Socket, text: string) => void, scheme: "http" | "https" = "http") {
  const received: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => undefined));
    socket.on("data", (data) => {
      received.push(String(data));
      onData(socket, String(data));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const http = new HttpConnection({
    ...{ scheme, host: "127.0.0.1", port: address.port, tls: { verify: true, fallback: false } },
    ...{ connectTimeoutMs: 60_000, requestTimeoutMs: 5_000, maxBodyBytes: 1_000 },
  });
  return {
    http,
    received,
    sockets,
    async [Symbol.asyncDispose]() {
      await http.close();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
