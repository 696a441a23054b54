import { createSocket } from "node:dgram";
import { once } from "node:events";

/** Asks for the authentication capabilities, in IPMI 1.5 framing, until there is an answer. */
export async function untilIpmiAnswers(port: number): Promise<void> {
  const socket = createSocket("udp4");
  const question = Buffer.from("0600ff07000000000000000000092018c88100388e04b5", "hex");
  socket.on("error", () => undefined);
  const ask = setInterval(() => socket.send(question, port, "127.0.0.1"), 50);
  try {
    await once(socket, "message", { signal: AbortSignal.timeout(15_000) });
  } finally {
    clearInterval(ask);
    socket.close();
  }
}
