import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { z } from "zod";

/** More than any backlog of 1 holds. */
const FILLERS = 4;
const ANSWERED_WITHIN_MS = 200;

/**
 * A TCP port on loopback where connection attempts are not even refused, as behind a firewall that drops
 * packets: the system drops the first packet of a connection when the listener's backlog is full.
 */
export async function startSilentPort() {
  const worker = new Worker(new URL("./silent-port-worker.ts", import.meta.url));
  const [message]: unknown[] = await once(worker, "message");
  const port = z.int().positive().parse(message);
  const fillers: Socket[] = [];
  const close = async () => {
    for (const socket of fillers) socket.destroy();
    await worker.terminate();
  };
  for (let filler = 0; filler < FILLERS; filler += 1) {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    fillers.push(socket);
    if (!(await connects(socket))) return { port, close, [Symbol.asyncDispose]: close };
  }
  await close();
  throw new Error("this system answers however full a listener's backlog is");
}

async function connects(socket: Socket): Promise<boolean> {
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(ANSWERED_WITHIN_MS) });
    return true;
  } catch {
    return false;
  }
}
