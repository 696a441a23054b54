import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { addressOf, createDialer } from "../../../../worker/sources/grpc/dial.ts";

const NEVER = new AbortController().signal;

describe("a server's address", () => {
  it.each([
    ["tink.example", { host: "tink.example", port: 42_113 }, "https://tink.example:42113"],
    ["[2001:db8::1]:443", { host: "2001:db8::1", port: 443 }, "https://[2001:db8::1]"],
    ["[fe80::1%lo]:23100", { host: "fe80::1%lo", port: 23_100 }, "https://[fe80::1]:23100"],
    ["[fe80::1%2]", { host: "fe80::1%2", port: 42_113 }, "https://[fe80::1]:42113"],
  ])("%s is one, and its URL has no zone", (server, address, url) => {
    expect(addressOf(server)).toEqual(address);
    expect(createDialer({ server, tls: true }).url).toBe(url);
  });

  it.each(["", "fe80::1", "[fe80::1%]:1", "[fe80::1%a b]:1", "[::1]:0", "host:65536", "http://host"])(
    "is not %j",
    (server) => {
      expect(() => createDialer({ server, tls: false })).toThrow(TypeError);
    },
  );

  it("with a zone is dialled", async () => {
    const server = createServer((socket) => socket.end()).listen(0, "::1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };

    const socket = await createDialer({ server: `[::1%lo]:${port}`, tls: false }).dial(NEVER);

    await once(socket, "connect");
    socket.destroy();
    server.close();
  });

  it.each([true, false])("with a zone that this host does not have is an error (TLS: %s)", async (tls) => {
    const socket = await createDialer({ server: "[fe80::1%nope0]:42113", tls }).dial(NEVER);

    const [error] = await once(socket, "error");

    expect(error).toMatchObject({ message: "this host has no interface named nope0 that is up" });
  });
});
