import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { UdpTransport } from "../../../../../shared/bmc/providers/ipmi/session/transport.ts";
import { BmcError } from "../../../../../shared/contract/bmc-error.ts";

const NEVER = new AbortController().signal;

async function answeringSocket(address: string) {
  const server = createSocket("udp4");
  server.on("message", (message, peer) => server.send(message, peer.port, peer.address));
  server.bind(0, address);
  await once(server, "listening");
  return { port: server.address().port, [Symbol.asyncDispose]: async () => void server.close() };
}

describe("a UDP transport", () => {
  // The system refuses to connect to a broadcast address, as it does without a route.
  it.each(["127.255.255.255", "255.255.255.255"])(
    "to %s, which cannot be connected, is unreachable",
    async (host) => {
      const opening = UdpTransport.open(host, 623, 5_000, NEVER);

      await expect(opening).rejects.toThrow(BmcError);
      await expect(opening).rejects.toMatchObject({
        class: "unreachable",
        message: expect.stringMatching(`^cannot reach ${host} port 623 \\(UDP\\): not permitted`),
      });
    },
  );

  it("with a zone that this host does not have is unreachable", async () => {
    const opening = UdpTransport.open("fe80::1%nope0", 623, 5_000, NEVER);

    await expect(opening).rejects.toMatchObject({
      class: "unreachable",
      message: "cannot reach fe80::1%nope0 port 623 (UDP): this host has no interface named nope0 that is up",
    });
  });

  it("passes what a receiver throws to that receiver, and the datagram to the others", async () => {
    await using server = await answeringSocket("127.0.0.1");
    const transport = await UdpTransport.open("127.0.0.1", server.port, 5_000, NEVER);
    const failed = Promise.withResolvers<BmcError>();
    const taken = Promise.withResolvers<Buffer>();
    transport.subscribe({
      datagram: () => {
        throw new RangeError("too short");
      },
      failed: failed.resolve,
    });
    transport.subscribe({ datagram: taken.resolve, failed: taken.reject });

    transport.send(Buffer.from("ping"));

    expect(await failed.promise).toMatchObject({ class: "internal", message: "too short" });
    expect(String(await taken.promise)).toBe("ping");
    await transport.close();
  });

  it("reports a packet that cannot be sent instead of throwing", async () => {
    await using server = await answeringSocket("127.0.0.1");
    const transport = await UdpTransport.open("127.0.0.1", server.port, 5_000, NEVER);
    const failed = Promise.withResolvers<BmcError>();
    transport.subscribe({ datagram: () => undefined, failed: failed.resolve });

    // More than a datagram holds, and no bytes at all.
    transport.send(Buffer.alloc(70_000));
    expect(await failed.promise).toMatchObject({ class: "unreachable" });
    expect(() => transport.send(undefined as unknown as Uint8Array)).not.toThrow();
    await transport.close();
  });
});
