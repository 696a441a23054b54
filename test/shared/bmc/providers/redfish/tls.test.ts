import { createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { createCertificate } from "../../../../../simulators/certificate.ts";
import {
  type RedfishBmc,
  type RedfishBmcOptions,
  startRedfishBmc,
} from "../../../../../simulators/redfish/bmc.ts";
import { errorOf, neverAborts, openSession, until, withSession } from "./open-session.ts";

const signal = neverAborts();
const authority = createCertificate({ commonName: "Test CA", authority: true });
const issued = (altNames: string[], more: { notAfter?: Date; notBefore?: Date } = {}) =>
  createCertificate({ commonName: "bmc", altNames, issuer: authority, ...more });

let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(options: RedfishBmcOptions = {}): Promise<void> {
  bmc = await startRedfishBmc(options);
}

describe("a certificate is accepted", () => {
  test("when its authority is given and it names the address", async () => {
    await start({ tls: issued(["127.0.0.1"]) });

    const state = await withSession(bmc, { tls: { ca: authority.cert } }, ({ power }) => power.read(signal));

    expect(state).toBe("on");
  });

  test("when it names the host and the host is given by name", async () => {
    await start({ tls: issued(["localhost"]) });

    const options = { tls: { ca: authority.cert }, connection: { host: "localhost" } };
    const state = await withSession(bmc, options, ({ power }) => power.read(signal));

    expect(state).toBe("on");
  });

  test("when it is pinned, regardless of its issuer", async () => {
    await start();

    const colons = bmc.fingerprint.toUpperCase().replace(/..(?!$)/g, "$&:");
    const state = await withSession(bmc, { tls: { fingerprint: colons } }, ({ power }) => power.read(signal));

    expect(state).toBe("on");
  });

  test("when verification is switched off", async () => {
    await start();

    const state = await withSession(bmc, { tls: { verify: false } }, ({ power }) => power.read(signal));

    expect(state).toBe("on");
  });

  test("over IPv6, with the address in brackets in the Host header", async () => {
    await start({ host: "::1", tls: issued(["::1"]) });

    const state = await withSession(bmc, { tls: { ca: authority.cert } }, ({ power }) => power.read(signal));

    expect(state).toBe("on");
    expect(bmc.requests[0]?.headers.host).toBe(`[::1]:${bmc.port}`);
  });
});

describe("a certificate is refused before any request is sent", () => {
  test.each([
    ["self-signed", undefined, {}, /self-signed certificate/],
    ["of an authority that was not given", issued(["127.0.0.1"]), {}, /unknown authority/],
    [
      "of the right authority for another address",
      issued(["192.0.2.1"]),
      { ca: authority.cert },
      /127\.0\.0\.1/,
    ],
    [
      "expired",
      issued(["127.0.0.1"], { notBefore: new Date("2020-01-01"), notAfter: new Date("2020-02-01") }),
      { ca: authority.cert },
      /expired .*: it is valid from 2020-01-01 to 2020-02-01; this host's clock says .*; if that is the BMC's own/,
    ],
    [
      "not the pinned one",
      undefined,
      { fingerprint: "ab".repeat(32) },
      /fingerprint of 127\.0\.0\.1:\d+ is [0-9a-f]{64}, not the pinned (ab){32}; /,
    ],
    [
      "not the pinned one with verification off",
      undefined,
      { fingerprint: "ab".repeat(32), verify: false },
      /fingerprint/,
    ],
  ])("%s", async (_, certificate, tls, reason) => {
    await start(certificate ? { tls: certificate } : {});

    const error = await errorOf(openSession(bmc, { tls }));

    expect(error).toMatchObject({ class: "tls", message: expect.stringMatching(reason) });
    expect(error.message).not.toContain("\n");
    // Only the time is asked for, without credentials.
    const asked = bmc.requests.filter(
      ({ method, path }) => !["GET", "HEAD"].includes(method) || path !== "/",
    );
    expect(asked).toEqual([]);
    expect(bmc.requests.flatMap(({ headers }) => headers.authorization ?? [])).toEqual([]);
  });

  test("no byte of the request reaches a peer with the wrong certificate", async () => {
    await start();
    const received: Buffer[] = [];
    const impostor = createTlsServer(createCertificate({ commonName: "impostor" }), (socket) => {
      socket.on("data", (chunk) => received.push(chunk));
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => impostor.listen(0, "127.0.0.1", resolve));
    const port = portOf(impostor.address());

    const error = await errorOf(openSession(bmc, { redfish: { port } }));
    await new Promise((resolve) => impostor.close(resolve));

    expect(error.class).toBe("tls");
    expect(received).toEqual([]);
  });
});

test("no server name is sent for an address, and one is for a name", async () => {
  await start();
  const names: unknown[] = [];
  const server = createTlsServer(issued(["localhost", "127.0.0.1"]), (socket) => {
    names.push(socket.servername);
    socket.on("error", () => undefined);
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const port = portOf(server.address());
  const options = { tls: { ca: authority.cert }, redfish: { port } };

  await errorOf(openSession(bmc, options));
  await errorOf(openSession(bmc, { ...options, connection: { host: "localhost" } }));
  await new Promise((resolve) => server.close(resolve));

  expect(names).toEqual([false, "localhost"]);
});

test("a peer that does not speak TLS is class tls and named as such", async () => {
  await start({ tls: "http" });

  const error = await errorOf(
    openSession(bmc, { redfish: { scheme: "https" }, connection: { connectTimeoutMs: 2_000 } }),
  );

  expect(error.class).toBe("tls");
  expect(error.message).toMatch(/does not speak TLS/);
});

test("a peer that never ends the handshake is unreachable after the connect timeout, and its socket is gone", async () => {
  await start();
  const sockets = new Set<Socket>();
  const mute = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.resume();
  });
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  const port = portOf(mute.address());

  const error = await errorOf(openSession(bmc, { redfish: { port }, connection: { connectTimeoutMs: 200 } }));
  await new Promise((resolve) => mute.close(resolve));

  expect(error).toMatchObject({
    class: "unreachable",
    message: expect.stringContaining("no TLS handshake within 200 ms"),
  });
  await until(() => sockets.size === 0, "the end of the connection");
});

function portOf(address: ReturnType<ReturnType<typeof createServer>["address"]>): number {
  if (address === null || typeof address === "string") throw new Error("not listening");
  return address.port;
}

describe("a certificate outside its validity is explained by the clocks", () => {
  const soon = {
    notBefore: new Date(Date.now() + 400 * 86_400_000),
    notAfter: new Date(Date.now() + 800 * 86_400_000),
  };

  test.each([
    ["the BMC's clock is within it", 500, /: correct the clock that is wrong$/],
    [
      "the BMC's clock is like this host's",
      0,
      /BMC's \d{4}-\d\d-\d\d; if that is the BMC's own certificate, accept/,
    ],
    [
      "the BMC does not say its time",
      undefined,
      /correct that clock if it is wrong; if that is the BMC's own/,
    ],
  ])("when %s", async (_, days, expected) => {
    const { cert, key } = issued(["127.0.0.1"], soon);
    const date =
      days === undefined ? "" : `Date: ${new Date(Date.now() + days * 86_400_000).toUTCString()}\r\n`;
    const server = createTlsServer({ cert, key }, (socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(`HTTP/1.1 404 Not Found\r\n${date}\r\n`));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const port = portOf(server.address());
    await start();

    const error = await errorOf(openSession(bmc, { redfish: { port }, tls: { ca: authority.cert } }));
    await new Promise((resolve) => server.close(resolve));

    expect(error).toMatchObject({ class: "tls", message: expect.stringMatching(expected) });
  });
});
