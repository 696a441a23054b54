import { createServer } from "node:net";
import { parentPort } from "node:worker_threads";

// Listens and then blocks: the system accepts as many connections as fit into the backlog.
const server = createServer();
server.listen({ host: "127.0.0.1", port: 0, backlog: 1 }, () => {
  const address = server.address();
  parentPort?.postMessage(address !== null && typeof address === "object" ? address.port : 0);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
