import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { freePort } from "./free-port.ts";
import { clientCaller } from "./pbnj-caller.ts";

/** PBnJ's server, whose address cannot be chosen: it listens on every one. */
export async function startPbnjServer(program: string) {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const argv = ["server", "--port", `${port}`, "--metricsListenAddr", `127.0.0.1:${metricsPort}`];
  const child = spawn(program, argv, { stdio: "ignore" });
  const closed = once(child, "close");
  const call = clientCaller(createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }));
  const isUp = async () => {
    const answer = await call("Task/Status", {});
    return "code" in answer && answer.code === "InvalidArgument";
  };
  for (let attempt = 0; attempt < 50 && !(await isUp()); attempt += 1) await sleep(100);
  return {
    call,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}
