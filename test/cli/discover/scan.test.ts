import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { discoveredTable } from "../../../cli/discover/result.ts";
import { RateLimiter } from "../../../cli/discover/scan.ts";
import { createCertificate, fingerprintOf } from "../../../simulators/certificate.ts";
import { WebServer } from "../../../simulators/web-server.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { startRack } from "./discover-lab.ts";

const certificate = createCertificate({ commonName: "bmc-1" });

describe("a scan", () => {
  it("finds Redfish, IPMI and AMT without a login, and nothing at other addresses", async () => {
    await using rack = await startRack();
    const redfish = await rack.redfish(2, { profile: "dell-idrac9", tls: certificate });
    const ipmi = await rack.ipmi(2);
    await rack.ipmi(3);
    const amt = await rack.amt(4);
    await rack.amt(5, { tls: certificate });

    const found = await rack.scan([1, 2, 3, 4, 5, 6]);

    const fingerprint = fingerprintOf(certificate);
    expect(found).toEqual([
      {
        host: rack.at(2),
        redfish: {
          port: redfish.port,
          version: expect.stringMatching(/^1\.\d+\.\d+$/),
          vendor: "Dell",
          ...found[0]?.redfish,
          certificate: { fingerprint, subject: "bmc-1", isTrusted: false },
        },
        ipmi: { port: ipmi.port, version: "2.0" },
      },
      { host: rack.at(3), ipmi: { port: ipmi.port, version: "2.0" } },
      { host: rack.at(4), amt: { port: amt.http.port, scheme: "http", version: "16.1.25" } },
      {
        host: rack.at(5),
        amt: expect.objectContaining({
          scheme: "https",
          certificate: { fingerprint, subject: "bmc-1", isTrusted: false },
        }),
      },
    ]);
    expect(redfish.log).toEqual(["GET /redfish/v1"]);
    expect(redfish.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(ipmi.log.filter((name) => /RAKP|Session/.test(name))).toEqual([]);
    expect(amt.guard.refused).toBe(0);
  });

  it("continues after an address that cannot be connected, such as the broadcast address", async () => {
    await using rack = await startRack();
    await rack.ipmi(2);

    const found = await rack.scan(["127.255.255.255", 2, "255.255.255.255"]);

    expect(found.map(({ host }) => host)).toEqual([rack.at(2)]);
  });

  it("finds a BMC that answers only the ping, or only the question for the version", async () => {
    await using rack = await startRack();
    const [ping, version] = [await rack.ipmi(2), await rack.ipmi(3)];
    ping.faults.ignores = (name) => name !== "Presence Ping";
    version.faults.rewrites = (name, datagram) => (name === "Presence Ping" ? [] : [datagram]);

    const found = await rack.scan([2, 3], { timeoutMs: 2_000 });

    expect(found.map(({ ipmi }) => ipmi?.version)).toEqual(["unknown", "2.0"]);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ["a huge body", (response) => flood(response)],
    [
      "a body without an end",
      (response) => response.writeHead(200, { "Content-Type": "application/json" }).write("{"),
    ],
    ["no answer", () => undefined],
    ["a body that is not JSON", (response) => response.end("<html>")],
    ["an object of something else", (response) => response.end('{"name": "printer"}')],
    ["a list", (response) => response.end("[]")],
    ["a redirect", (response) => response.writeHead(302, { Location: "https://192.0.2.1/redfish/v1" }).end()],
    ["other types", (response) => response.end('{"RedfishVersion": {}, "@odata.type": 7}')],
  ])("does not take for Redfish what answers with %s", async (_, answer) => {
    await using rack = await startRack();
    const server = new WebServer(certificate, (_request, response) => answer(response));
    await server.listen(0, rack.at(2));
    onTestFinished(() => server.stop());
    rack.ports.redfish = server.port;
    rack.ports.amtTls = server.port;

    expect(await rack.scan([2], { timeoutMs: 1_500 })).toEqual([]);
    expect(server.connections).toBeGreaterThan(0);
    expect(flooded).toBeLessThan(16 * 1_024 * 1_024);
  });

  it("does not take garbage on UDP for a BMC", async () => {
    await using rack = await startRack();
    const socket = createSocket("udp4");
    // A tag that no ping has, cut, the request itself, and lengths that are wrong.
    const pong = Buffer.from("0600ff06000011be40ff0010000011be00000000810000000000000000000000", "hex");
    socket.on("message", (request, { port, address }) => {
      for (const datagram of [
        pong,
        pong.subarray(0, 12),
        request,
        Buffer.alloc(1_400, 0xff),
        Buffer.alloc(0),
      ]) {
        socket.send(datagram, port, address);
      }
    });
    socket.bind(0, rack.at(2));
    await once(socket, "listening");
    onTestFinished(() => void socket.close());
    rack.ports.ipmi = socket.address().port;

    expect(await rack.scan([2], { timeoutMs: 300 })).toEqual([]);
  });

  it("keeps little of a BMC's text, and shows it safely", async () => {
    await using rack = await startRack();
    const body = JSON.stringify({
      RedfishVersion: "1.15.0",
      Vendor: `\u001b]0;owned\u0007\u202e${"x".repeat(50_000)}`,
      Product: "a\nb",
    });
    const server = new WebServer(certificate, (_, response) => {
      response.writeHead(200, { "Content-Type": "application/json" }).end(body);
    });
    await server.listen(0, rack.at(2));
    onTestFinished(() => server.stop());
    rack.ports.redfish = server.port;

    const found = await rack.scan([2]);

    expect(found[0]?.redfish?.vendor).toHaveLength(100);
    const table = discoveredTable(found);
    expect(table).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    expect(table.split("\n")).toHaveLength(3);
  });

  it("ends with the signal", async () => {
    await using rack = await startRack();
    const reason = new Error("stopped");

    await expect(rack.scan([2], {}, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it("reports its progress", async () => {
    await using rack = await startRack();
    await rack.ipmi(2);
    const seen: (readonly [number, number])[] = [];

    await rack.scan([1, 2], { concurrency: 1, onProgress: (probed, found) => seen.push([probed, found]) });

    expect(seen).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });
});

describe("the pace of a scan", () => {
  it("is evenly spaced, at most the rate", async () => {
    const clock = new VirtualClock();
    const limiter = new RateLimiter(4, clock);
    const turns: number[] = [];
    const signal = new AbortController().signal;
    for (let number = 0; number < 9; number += 1) {
      void limiter.turn(signal).then(() => turns.push(clock.monotonicMs()));
    }

    await clock.until(() => turns.length === 9, 60_000);

    expect(turns).toEqual([0, 250, 500, 750, 1_000, 1_250, 1_500, 1_750, 2_000]);
  });

  it("does not save up turns", async () => {
    const clock = new VirtualClock();
    const limiter = new RateLimiter(1, clock);
    const signal = new AbortController().signal;
    await limiter.turn(signal);
    let isOver = false;
    void clock.sleep(60_000).then(() => (isOver = true));
    await clock.until(() => isOver, 60_000);
    const turns: number[] = [];
    for (let number = 0; number < 2; number += 1) {
      void limiter.turn(signal).then(() => turns.push(clock.monotonicMs()));
    }

    await clock.until(() => turns.length === 2, 60_000);

    expect(turns).toEqual([60_000, 61_000]);
  });

  it("holds for every connection and packet of a scan", async () => {
    await using rack = await startRack();
    await rack.redfish(2);
    const clock = new VirtualClock();

    let isDone = false;
    const scanning = rack.scan([2, 3], { clock, rate: 1 }).then((found) => {
      isDone = true;
      return found;
    });
    const startedMs = performance.now();
    while (!isDone && performance.now() - startedMs < 60_000) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      await clock.until(() => false, 1_000).catch(() => undefined);
    }

    expect(await scanning).toHaveLength(1);
    // Certificate and service root, and three closed ports; four at the other.
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(8_000);
  });
});

/** Bytes that `flood` has written. */
let flooded = 0;

function flood(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/json" });
  const more = () => {
    let hasRoom = true;
    while (response.writable && hasRoom) {
      hasRoom = response.write(Buffer.alloc(65_536, 0x20));
      flooded += 65_536;
    }
  };
  response.on("drain", more);
  more();
}
