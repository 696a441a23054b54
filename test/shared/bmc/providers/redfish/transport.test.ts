import { createServer, type Server, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import {
  type RedfishBmc,
  type RedfishBmcOptions,
  startRedfishBmc,
} from "../../../../../simulators/redfish/bmc.ts";
import type { Fault } from "../../../../../simulators/redfish/faults.ts";
import { errorOf, neverAborts, openSession, until, withSession } from "./open-session.ts";

const signal = neverAborts();
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(options: RedfishBmcOptions = {}): Promise<void> {
  bmc = await startRedfishBmc({ tls: "http", ...options });
}

const quick = { connection: { requestTimeoutMs: 1_500 } };

describe("a reading whose answer is wrong", () => {
  test.each<[Fault["kind"], string, RegExp]>([
    ["truncated", "protocol", /truncated answer/],
    ["bad-json", "protocol", /not JSON/],
    ["wrong-type", "protocol", /text\/html instead of JSON/],
    ["oversized", "protocol", /more than 1048576 bytes/],
    ["close-before", "unreachable", /connection lost/],
    ["close-after", "unreachable", /connection lost/],
    ["silent", "timeout", /no answer within 1500 ms/],
    ["slow-body", "timeout", /no answer within 1500 ms/],
  ])("%s is class %s, never uncertain", async (kind, errorClass, reason) => {
    await start();
    bmc.fail({ kind, path: /Systems\/./, times: 9 });

    const error = await errorOf(openSession(bmc, quick));

    expect(error).toMatchObject({
      class: errorClass,
      uncertain: false,
      message: expect.stringMatching(reason),
    });
    expect(error.message).toContain("GET /redfish/v1/Systems");
  });

  test("JSON of another shape is class protocol", async () => {
    await start();

    const error = await withRawPeer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]", (port) =>
      errorOf(openSession(bmc, { redfish: { port } })),
    );

    expect(error).toMatchObject({
      class: "protocol",
      message: expect.stringContaining("something else than expected"),
    });
  });

  test("bytes that are no HTTP are class protocol", async () => {
    await start();

    const error = await withRawPeer("SSH-2.0-OpenSSH_9.2\r\n\r\n", (port) =>
      errorOf(openSession(bmc, { redfish: { port } })),
    );

    expect(error).toMatchObject({ class: "protocol", message: expect.stringContaining("malformed answer") });
  });

  test("a compressed answer that was not asked for is understood", async () => {
    await start();
    const body = gzipSync(JSON.stringify({ Members: [] }));
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`;

    const error = await withRawPeer(Buffer.concat([Buffer.from(head), body]), (port) =>
      errorOf(openSession(bmc, { redfish: { port } })),
    );

    expect(error).toMatchObject({ class: "unsupported", message: "the BMC lists no system" });
  });
});

describe("a write whose answer is lost", () => {
  test.each<[Fault["kind"], string]>([
    ["close-before", "unreachable"],
    ["close-after", "unreachable"],
    ["silent", "timeout"],
    ["slow-body", "timeout"],
    ["truncated", "protocol"],
    ["oversized", "protocol"],
  ])("%s is class %s and uncertain", async (kind, errorClass) => {
    await start();

    const error = await withSession(bmc, quick, async ({ power }) => {
      bmc.fail({ kind, method: "POST" });
      return await errorOf(power.send("off", signal));
    });

    expect(error).toMatchObject({ class: errorClass, uncertain: true });
    expect(bmc.machine.count("off")).toBe(kind === "close-before" ? 0 : 1);
    expect(bmc.log.filter((line) => line.startsWith("POST"))).toHaveLength(1);
  });

  test.each([
    [{ kind: "gateway", status: 502, method: "POST" }, "bmc", true],
    [{ kind: "gateway", status: 504, method: "POST" }, "bmc", true],
    [{ kind: "gateway", status: 503, method: "POST" }, "busy", true],
    [{ kind: "refuse", status: 503, method: "POST" }, "busy", false],
  ] as const)("with %j it is class %s; uncertain: %s", async (fault, errorClass, uncertain) => {
    await start();

    const error = await withSession(bmc, quick, async ({ power }) => {
      bmc.fail(fault);
      return await errorOf(power.send("off", signal));
    });

    expect(error).toMatchObject({ class: errorClass, uncertain });
    expect(bmc.log.filter((line) => line.startsWith("POST"))).toHaveLength(1);
  });

  test("a setting that a gateway did not answer with 503 may be sent again", async () => {
    await start();

    const error = await withSession(bmc, quick, async ({ boot }) => {
      bmc.fail({ kind: "gateway", status: 503, method: "PATCH" });
      return await errorOf(boot.write({ device: "pxe", persistent: false, mode: "keep" }, signal));
    });

    expect(error).toMatchObject({ class: "busy", uncertain: false });
  });

  test("a write that was never sent is not uncertain", async () => {
    await start();

    const error = await withSession(bmc, {}, async ({ power }) => {
      await bmc.close();
      // Time for the end of the connection to arrive; before that a request would go out on it.
      await new Promise((resolve) => setTimeout(resolve, 50));
      return await errorOf(power.send("off", signal));
    });

    expect(error).toMatchObject({ class: "unreachable", uncertain: false });
  });

  test.each<Fault["kind"]>(["wrong-type", "bad-json"])(
    "an accepting answer with a %s body is an acceptance",
    async (kind) => {
      await start();

      await withSession(bmc, {}, async ({ power }) => {
        bmc.fail({ kind, method: "POST" });
        await power.send("off", signal);
      });

      expect(bmc.machine.count("off")).toBe(1);
    },
  );
});

describe("a BMC that is not there", () => {
  test("refuses: unreachable, with the address", async () => {
    await start();
    const { port } = bmc;
    await bmc.close();

    const error = await errorOf(
      openSession(bmc, { redfish: { port } }).catch((reason) => Promise.reject(reason)),
    );

    expect(error).toMatchObject({
      class: "unreachable",
      message: `cannot connect to 127.0.0.1:${bmc.port}: connection refused`,
    });
  });

  test("has an unknown name: unreachable", async () => {
    await start();

    const error = await errorOf(openSession(bmc, { connection: { host: "bmc.invalid" } }));

    expect(error.class).toBe("unreachable");
  });
});

describe("busy answers", () => {
  test.each([
    ["seconds", () => "7", 7_000, 7_000],
    ["a date", () => new Date(Date.now() + 60_000).toUTCString(), 50_000, 61_000],
  ])("503 with Retry-After in %s is busy and says when", async (_, retryAfter, least, most) => {
    await start();
    bmc.fail({ kind: "refuse", retryAfter: retryAfter() });

    const error = await errorOf(openSession(bmc));

    expect(error.class).toBe("busy");
    expect(error.retryAfterMs).toBeGreaterThanOrEqual(least);
    expect(error.retryAfterMs).toBeLessThanOrEqual(most);
  });

  test.each([
    [409, "busy"],
    [429, "busy"],
    [503, "busy"],
    [400, "bmc"],
    [405, "unsupported"],
    [501, "unsupported"],
    [500, "bmc"],
  ])("%i is class %s with the BMC's own words and their MessageId", async (status, errorClass) => {
    await start();
    bmc.fail({ kind: "refuse", status, messageId: "Contoso.1.0.Strange", times: 9 });

    const error = await errorOf(openSession(bmc));

    const words = "The service is temporarily unavailable. (Contoso.1.0.Strange)";
    expect(error).toMatchObject({
      class: errorClass,
      message: `GET /redfish/v1/Systems answered ${status}: ${words}`,
    });
  });
});

describe("a message says more than the status", () => {
  test.each([
    ["sessions full on Dell", 500, "IDRAC.2.8.RAC0218", "busy"],
    ["sessions full", 400, "Base.1.8.SessionLimitExceeded", "busy"],
    ["iDRAC still starting", 400, "IDRAC.2.8.SYS518", "busy"],
    ["media still attached on Dell", 500, "IDRAC.2.8.VRM0021", "busy"],
    ["On right after off on iDRAC10", 400, "Base.1.12.ActionParameterValueConflict", "busy"],
    ["POST on HPE", 400, "iLO.2.14.UnableToModifyDuringSystemPOST", "busy"],
    ["between states on HPE", 400, "iLO.2.14.InvalidOperationForSystemState", "busy"],
    ["a refused login on HPE", 400, "iLO.2.14.UnauthorizedLoginAttempt", "auth"],
    ["too little privilege", 400, "Base.1.8.InsufficientPrivilege", "auth"],
    ["a service that is busy", 500, "Base.1.8.ServiceTemporarilyUnavailable", "busy"],
    ["a value that is not offered", 400, "Base.1.8.PropertyValueNotInList", "unsupported"],
    ["refused credentials, whatever else is said", 401, "Base.1.8.ResourceInUse", "auth"],
  ])("%s: %i %s is class %s", async (_, status, messageId, errorClass) => {
    await start();
    bmc.fail({ kind: "refuse", status, messageId, times: 9 });

    const error = await errorOf(openSession(bmc));

    expect(error.class).toBe(errorClass);
  });
});

test.each([
  ["The service is temporarily unavailable. Retry in 30 seconds.", 30_000],
  ["Wait 2 minutes and try again.", 120_000],
  ["Try again later.", undefined],
])("how long the BMC asks to wait counts in words, too: %s", async (message, retryAfterMs) => {
  await start();
  bmc.fail({ kind: "refuse", status: 503, message });

  expect(await errorOf(openSession(bmc))).toMatchObject({ class: "busy", retryAfterMs });
});

describe("redirects", () => {
  test("on the same host are followed", async () => {
    await start();
    bmc.fail({ kind: "redirect", path: /Systems$/, status: 301, location: "/redfish/v1/Systems/" });

    expect(await withSession(bmc, {}, ({ power }) => power.read(signal))).toBe("on");
  });

  test("end after three", async () => {
    await start();
    bmc.fail({ kind: "redirect", location: "/redfish/v1/Systems", times: 10 });

    const error = await errorOf(openSession(bmc));

    expect(error.class).toBe("protocol");
    expect(bmc.log).toHaveLength(4);
  });

  test("of a write keep it with 308 and refuse to lose it with 303", async () => {
    await start();

    const error = await withSession(bmc, {}, async ({ power }) => {
      const location = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
      bmc.fail({ kind: "redirect", method: "POST", status: 308, location });
      await power.send("off", signal);
      bmc.fail({ kind: "redirect", method: "POST", status: 303, location });
      return await errorOf(power.send("off", signal));
    });

    expect(bmc.machine.count("off")).toBe(1);
    expect(error.class).toBe("protocol");
  });
});

describe("an abort", () => {
  test("rejects with the signal's reason and closes the connection", async () => {
    await start();
    bmc.fail({ kind: "silent" });
    const controller = new AbortController();
    const reason = new Error("enough");
    const opening = openSession(bmc, { signal: controller.signal });
    const rejected = expect(opening).rejects.toBe(reason);
    await until(() => bmc.log.length === 1, "the request");

    controller.abort(reason);

    await rejected;
  });

  test("while connecting leaves no socket behind", async () => {
    await start();
    const sockets = new Set<Socket>();
    const mute = await listen((socket) => {
      sockets.add(socket);
      socket.resume();
      socket.on("close", () => sockets.delete(socket));
    });
    const controller = new AbortController();
    const options = { redfish: { port: mute.port, scheme: "https" }, signal: controller.signal };
    const rejected = expect(openSession(bmc, options)).rejects.toThrow("enough");
    await until(() => sockets.size === 1, "the connection");

    controller.abort(new Error("enough"));
    await rejected;

    await until(() => sockets.size === 0, "the end of the connection");
    await mute.close();
  });

  test("before the start sends nothing", async () => {
    await start();

    await expect(openSession(bmc, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
      "enough",
    );

    expect(bmc.connections).toBe(0);
  });
});

describe("a BMC that closes the connection after each answer without saying so", () => {
  test("is worked with, and asked on a new connection each time once that is known", async () => {
    await start({ profile: "closing" });

    const hint = await withSession(bmc, {}, async (session) => {
      for (let i = 0; i < 6; i++) expect(await session.power.read(signal)).toBe("on");
      return session.hint();
    });
    bmc.forget();
    await withSession(bmc, { hint }, ({ power }) => power.send("off", signal));

    expect(hint).toMatchObject({ keepAlive: false });
    expect(bmc.requests.map(({ headers }) => headers.connection)).toEqual(["close"]);
    expect(bmc.machine.count("off")).toBe(1);
  });

  test("a reading that meets the end of an old connection is sent again, a write never", async () => {
    await start();

    const [state, error] = await withSession(bmc, {}, async ({ power }) => {
      await power.read(signal);
      bmc.fail({ kind: "reset-before", method: "GET" });
      const read = await power.read(signal);
      bmc.fail({ kind: "reset-before", method: "POST" });
      return [read, await errorOf(power.send("off", signal))];
    });

    expect(state).toBe("on");
    expect(error).toMatchObject({ class: "unreachable", uncertain: true });
    expect(bmc.log.filter((line) => line.startsWith("POST"))).toHaveLength(1);
  });
});

test("one connection carries a whole session, with identity encoding and keep-alive", async () => {
  await start();

  await withSession(bmc, {}, async ({ power, boot }) => {
    for (let i = 0; i < 5; i++) await power.read(signal);
    await boot.write({ device: "pxe", persistent: false, mode: "keep" }, signal);
  });

  expect(bmc.connections).toBe(1);
  expect(new Set(bmc.requests.map(({ headers }) => headers["accept-encoding"]))).toEqual(
    new Set(["identity"]),
  );
  expect(new Set(bmc.requests.map(({ headers }) => headers.connection))).toEqual(new Set(["keep-alive"]));
});

async function listen(onSocket: (socket: Socket) => void): Promise<{ port: number; close(): Promise<void> }> {
  const server: Server = createServer((socket) => {
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening");
  return { port: address.port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

async function withRawPeer<T>(answer: string | Buffer, use: (port: number) => Promise<T>): Promise<T> {
  const peer = await listen((socket) => socket.once("data", () => socket.end(answer)));
  try {
    return await use(peer.port);
  } finally {
    await peer.close();
  }
}
