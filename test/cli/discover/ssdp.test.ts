import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { readReply, searchSsdp } from "../../../cli/discover/ssdp.ts";
import { systemClock } from "../../../shared/clock.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const REDFISH = "urn:dmtf-org:service:redfish-rest:1";

function reply(changes: Readonly<Record<string, string>> = {}): Buffer {
  const fields = {
    "CACHE-CONTROL": "max-age=1800",
    ST: REDFISH,
    USN: `uuid:00000000-0000-0000-0000-000000000001::${REDFISH}:1:15`,
    AL: "<https://127.0.0.1:8443/redfish/v1/>",
    EXT: "",
    ...changes,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}:${value}`);
  return Buffer.from(["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n"));
}

/** A service that answers each search with these datagrams, and what it was asked. */
async function startService(replies: readonly Buffer[]) {
  const socket = createSocket("udp4");
  const searches: string[] = [];
  socket.on("message", (search, peer) => {
    searches.push(search.toString());
    for (const datagram of replies) socket.send(datagram, peer.port, peer.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  onTestFinished(() => void socket.close());
  return { searches, group: { address: "127.0.0.1", port: socket.address().port } };
}

describe("a search with SSDP", () => {
  it("asks for Redfish services and takes the sender of an answer", async () => {
    const { searches, group } = await startService([Buffer.from("garbage"), reply(), reply()]);
    const clock = new VirtualClock();

    const search = searchSsdp({ clock, group, interfaces: ["127.0.0.1"] }, AbortSignal.timeout(60_000));
    const done = search.then(() => true);
    await expect.poll(() => searches.length, { timeout: 30_000 }).toBe(1);
    await clock.until(() => searches.length === 2 || clock.monotonicMs() >= 500, 10_000);
    await expect.poll(() => searches.length, { timeout: 30_000 }).toBe(2);
    // The answers are in the socket's queue before the time is over.
    await systemClock.sleep(20);
    await clock.until(() => clock.monotonicMs() >= 4_500, 10_000);

    expect(await done).toBe(true);
    expect(await search).toEqual([{ host: "127.0.0.1", redfishPort: 8_443 }]);
    expect(searches[0]?.split("\r\n")).toEqual([
      "M-SEARCH * HTTP/1.1",
      `HOST: 127.0.0.1:${group.port}`,
      'MAN: "ssdp:discover"',
      "MX: 3",
      `ST: ${REDFISH}`,
      "",
      "",
    ]);
  });

  it("ends with the signal", async () => {
    const { group } = await startService([]);
    const reason = new Error("stopped");
    const stopping = new AbortController();

    const search = searchSsdp({ clock: systemClock, group, interfaces: ["127.0.0.1"] }, stopping.signal);
    stopping.abort(reason);

    await expect(search).rejects.toBe(reason);
  });

  it.each<[string, Buffer, object | undefined]>([
    [
      "names its own port",
      reply({ AL: "https://192.0.2.9:8443/redfish/v1/" }),
      { host: "192.0.2.9", redfishPort: 8_443 },
    ],
    ["names another host", reply({ AL: "<https://198.51.100.1:22/>" }), { host: "192.0.2.9" }],
    ["names plain HTTP", reply({ AL: "<http://192.0.2.9:80/>" }), { host: "192.0.2.9" }],
    ["names nothing", reply({ AL: "" }), { host: "192.0.2.9" }],
    ["is of another service", reply({ ST: "upnp:rootdevice" }), undefined],
    ["has another USN", reply({ USN: "uuid:1::upnp:rootdevice" }), undefined],
    ["is huge", Buffer.concat([reply(), Buffer.alloc(5_000)]), undefined],
    ["is a request", Buffer.from(`NOTIFY * HTTP/1.1\r\nST:${REDFISH}\r\nUSN:${REDFISH}\r\n`), undefined],
  ])("an answer that %s", (_, datagram, expected) => {
    expect(readReply(datagram, "192.0.2.9")).toEqual(expected);
  });
});
