import { once } from "node:events";
import { createServer, type Http2Server, type Http2Session, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { ActionResponseSchema } from "../../../../worker/sources/tink/gen/workflow_pb.ts";
import { connectTinkApi, type TinkApiOptions } from "../../../../worker/sources/tink/tink-api.ts";

const never = new AbortController().signal;
const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Behaviour = (stream: ServerHttp2Stream, session: Http2Session) => void;

const HEADERS = { ":status": 200, "content-type": "application/grpc+proto" };
const ACTION = toBinary(
  ActionResponseSchema,
  create(ActionResponseSchema, {
    workflowId: "default/w",
    taskId: "t",
    agentId: "agent",
    actionId: "a",
    name: "n",
    image: "i",
  }),
);

/** A gRPC message: a byte of flags, four of length, then the message. */
function framed(message: Uint8Array, length = message.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

const behave: Behaviour = (stream) => {
  stream.respond(HEADERS, { waitForTrailers: true });
  stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(framed(ACTION));
};

async function listening(
  server: Http2Server | Server,
  options: Partial<TinkApiOptions>,
): Promise<ReturnType<typeof connectTinkApi>> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const transport = connectTinkApi({ server: `127.0.0.1:${port}`, tls: false, ...options });
  cleanups.push(async () => {
    await transport.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return transport;
}

/** A server with one behaviour per call, and then the normal one. */
function against(
  behaviours: readonly Behaviour[],
  options: Partial<TinkApiOptions> = {},
): Promise<ReturnType<typeof connectTinkApi>> {
  const rest = [...behaviours];
  const server = createServer();
  server.on("session", (session) => session.on("error", () => undefined));
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    const { session } = stream;
    if (session) (rest.shift() ?? behave)(stream, session);
  });
  return listening(server, options);
}

describe("a server that misbehaves", () => {
  it.each<readonly [what: string, code: string, behaviour: Behaviour]>([
    [
      "announces four gigabytes",
      "ResourceExhausted",
      (stream) => {
        stream.respond(HEADERS);
        stream.write(framed(ACTION, 0xffff_ffff));
      },
    ],
    [
      "ends without trailers",
      "Internal",
      (stream) => {
        stream.respond(HEADERS);
        stream.end(framed(ACTION));
      },
    ],
    [
      "ends in the middle of a message",
      "DataLoss",
      (stream) => {
        stream.respond(HEADERS, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end(framed(ACTION, 1_000));
      },
    ],
    [
      "sends two messages",
      "Unimplemented",
      (stream) => {
        stream.respond(HEADERS, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.write(framed(ACTION));
        stream.end(framed(ACTION));
      },
    ],
    [
      "sends no message",
      "Unimplemented",
      (stream) => {
        stream.respond(HEADERS, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end();
      },
    ],
    [
      "compresses without being asked to",
      "Internal",
      (stream) => {
        stream.respond(HEADERS, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        const message = framed(ACTION);
        message[0] = 1;
        stream.end(message);
      },
    ],
    ["resets the call", "Internal", (stream) => stream.close(2)],
    ["is asked too much", "ResourceExhausted", (stream) => stream.close(11)],
    ["wants more security", "PermissionDenied", (stream) => stream.close(12)],
    ["cancels the call", "Canceled", (stream) => stream.close(8)],
    ["resets the call without an error", "Unavailable", (stream) => stream.close(0)],
    ["refuses the call", "Unavailable", (stream) => stream.close(7)],
    ["destroys the session", "Unavailable", (_, session) => session.destroy()],
    ["is killed", "Unavailable", (_, session) => session.socket.destroy()],
    [
      "answers like a proxy without a server behind it",
      "Unavailable",
      (stream) => {
        stream.respond({ ":status": 503, "content-type": "text/html" });
        stream.end("<html>no server</html>");
      },
    ],
    [
      "answers in HTML",
      "Unknown",
      (stream) => {
        stream.respond({ ":status": 200, "content-type": "text/html" });
        stream.end("<html>welcome</html>");
      },
    ],
    [
      "invents a status",
      "Internal",
      (stream) => stream.respond({ ...HEADERS, "grpc-status": "ninety" }, { endStream: true }),
    ],
  ])("that %s fails the poll with %s, and the next one succeeds", async (_, code, behaviour) => {
    const transport = await against([behaviour]);

    expect(await transport.next("agent", never)).toMatchObject({
      kind: "failed",
      code,
      reason: expect.stringMatching(/./),
    });
    expect(await transport.next("agent", never)).toMatchObject({ kind: "action" });
  });

  it.each([
    [
      "a message with malformed percent-encoding",
      { "grpc-message": "100 % of it: %zz %C3" },
      "100 % of it: %zz %C3",
    ],
    ["malformed details", { "grpc-message": "not%20yours", "grpc-status-details-bin": "%%%" }, "not yours"],
    [
      "malformed details and a malformed message",
      { "grpc-message": "%", "grpc-status-details-bin": "AAAA/////w" },
      "%",
    ],
  ])("that fails a call with %s keeps its status code", async (_, fields, reason) => {
    const status = { "grpc-status": "7", ...fields };
    const inHeaders: Behaviour = (stream) => stream.respond({ ...HEADERS, ...status }, { endStream: true });
    const inTrailers: Behaviour = (stream) => {
      stream.respond(HEADERS, { waitForTrailers: true });
      stream.once("wantTrailers", () => stream.sendTrailers(status));
      stream.end();
    };
    const transport = await against([inHeaders, inTrailers]);

    const polls = [await transport.next("agent", never), await transport.next("agent", never)];

    const refused = { kind: "failed", code: "PermissionDenied", reason };
    expect(polls).toEqual([refused, refused]);
  });

  it("that sends a message byte by byte is read to its end", async () => {
    const transport = await against([
      (stream) => {
        stream.respond(HEADERS, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        for (const byte of framed(ACTION)) stream.write(Buffer.of(byte));
        stream.end();
      },
    ]);

    expect(await transport.next("agent", never)).toMatchObject({ kind: "action" });
  });

  it("that sends GOAWAY with an error fails the poll, and the next one succeeds", async () => {
    const transport = await against([(_, session) => session.goaway(2)]);

    expect(await transport.next("agent", never)).toMatchObject({ kind: "failed" });
    expect(await transport.next("agent", never)).toMatchObject({ kind: "action" });
  });

  it("that sends garbage as a message fails the poll", async () => {
    const transport = await against([
      (stream) => {
        stream.respond(HEADERS, { waitForTrailers: true });
        stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
        stream.end(framed(Buffer.from("not protobuf at all")));
      },
    ]);

    expect(await transport.next("agent", never)).toMatchObject({ kind: "failed" });
  });

  it("that serves another agent's action fails the poll", async () => {
    const transport = await against([]);

    expect(await transport.next("another", never)).toEqual({
      kind: "failed",
      code: "DataLoss",
      reason: 'the action is for agent "agent"',
    });
  });

  it("that is frozen is disconnected when a ping is not answered, long before the poll's deadline", async () => {
    // An empty SETTINGS frame (RFC 9113 section 6.5) and then nothing.
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let connections = 0;
    const server = createTcpServer((socket) => {
      connections += 1;
      socket.write(settings);
    });
    const transport = await listening(server, {
      pingIntervalMs: 100,
      pingTimeoutMs: 200,
      pollTimeoutMs: 60_000,
    });
    const givenUp = { kind: "failed", code: "Unavailable", reason: "the server does not answer" };

    const together = await Promise.all([transport.next("agent", never), transport.next("agent", never)]);
    const later = await transport.next("agent", never);

    expect([...together, later]).toEqual([givenUp, givenUp, givenUp]);
    expect(connections).toBe(2);
  });

  it("that is slow but alive is not disconnected", async () => {
    const answerLate: Behaviour = (stream, session) => {
      setTimeout(() => behave(stream, session), 600);
    };
    const transport = await against([answerLate], { pingIntervalMs: 50, pingTimeoutMs: 5_000 });

    expect(await transport.next("agent", never)).toMatchObject({ kind: "action" });
  });

  it("that closes every connection at once fails each poll", async () => {
    const transport = await listening(
      createTcpServer((socket) => socket.destroy()),
      {},
    );

    const polls = await Promise.all(Array.from({ length: 20 }, () => transport.next("agent", never)));

    expect(new Set(polls.map(({ kind }) => kind))).toEqual(new Set(["failed"]));
  });

  it("that speaks HTTP/1.1 fails the poll", async () => {
    const transport = await listening(
      createTcpServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")),
      {},
    );

    expect(await transport.next("agent", never)).toMatchObject({ kind: "failed" });
  });

  it("that accepts and never answers is disconnected at the poll's deadline and on close", async () => {
    const transport = await listening(createTcpServer(), { pollTimeoutMs: 200 });

    const poll = await transport.next("agent", never);
    await transport.close();

    expect(poll).toMatchObject({ kind: "idle" });
  });
});
