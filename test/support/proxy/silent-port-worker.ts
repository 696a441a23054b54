import { createServer } from "node:net";
import { parentPort } from "node:worker_threads";

// Listens and then stands still: the system takes as many connections as the backlog holds and no more.
const server = createServer();
server.listen({ host: "127.0.0.1", port: 0, backlog: 1 }, () => {
  const address = server.address();
  parentPort?.postMessage(address !== null && typeof address === "object" ? address.port : 0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
