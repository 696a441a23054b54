import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { listenOn } from "../../simulators/free-port.ts";

/** A TCP port of 127.0.0.1 for a program that cannot choose one itself. */
export async function freePort(): Promise<number> {
  const server = createServer();
  let found = 0;
  await listenOn(0, async (port) => {
    await once(server.listen(port, "127.0.0.1"), "listening");
    found = port;
  });
  server.close();
  await once(server, "close");
  return found;
}

/** A UDP port of 127.0.0.1 for a program that cannot choose one itself. */
export async function freeUdpPort(): Promise<number> {
  let found = 0;
  await listenOn(0, async (port) => {
    const socket = createSocket("udp4");
    try {
      await once(socket.bind(port, "127.0.0.1"), "listening");
    } finally {
      socket.close();
    }
    found = port;
  });
  return found;
}
