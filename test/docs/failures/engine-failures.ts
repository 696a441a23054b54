import { once } from "node:events";
import { chmod } from "node:fs/promises";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Failure, Seen } from "./failure.ts";
import { REFUSING } from "./machines.ts";
import type { Stage } from "./stage.ts";

const OTHER_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/** One action in a container, with what the workflow says of it in the end. */
async function containerFailure(
  stage: Stage,
  argv: readonly string[],
  image: string,
  by: readonly string[] = [],
  timeout = 60,
): Promise<Seen> {
  const server = await stage.tink();
  const inventory = await stage.inventory(REFUSING);
  const policy = await stage.file("policy.yaml", 'trustedImages: ["**"]\n');
  const files = ["--inventory", inventory, "--policy", policy];
  const settings = ["--grpc-server", server.address, ...files, "--runtime", "docker", ...argv];
  if (by.length > 0) stage.startProcess(settings, {}, by);
  else stage.start(settings);
  return stage.statusOf(await stage.ending(server, { name: "power-on", image, timeout }));
}

const IMAGE = "registry.example/pbnj-worker/power-on:v0.1.0";

/** A registry on loopback, which engines talk to without TLS; gives its address. */
async function registry(stage: Stage, answer: RequestListener): Promise<string> {
  const server = createHttp(answer);
  await once(server.listen(0, "127.0.0.1"), "listening");
  stage.defer(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const host = `127.0.0.1:${address.port}`;
  stage.hide(`http://${host}`, "https://registry.example");
  stage.hide(host, "registry.example");
  return host;
}

/** What is between the worker and its container engine. */
export const engineFailures: readonly Failure[] = [
  {
    name: "engine-down",
    provoke: (stage) => {
      const socket = join(stage.folder, "docker.sock");
      stage.hide(socket, "/var/run/docker.sock");
      // It is waited for as long as the action may take.
      return containerFailure(stage, ["--docker-socket", socket], IMAGE, [], 1);
    },
  },
  {
    name: "engine-forbidden",
    needs: "user",
    provoke: async (stage) => {
      const socket = join(stage.folder, "docker.sock");
      stage.hide(socket, "/var/run/docker.sock");
      const engine = createServer();
      await once(engine.listen(socket), "listening");
      stage.defer(async () => {
        engine.close();
      });
      await chmod(socket, 0o600);
      await chmod(stage.folder, 0o777);
      return containerFailure(stage, ["--docker-socket", socket], IMAGE, OTHER_USER);
    },
  },
  {
    name: "image-absent",
    needs: "engine",
    provoke: (stage) =>
      containerFailure(stage, ["--pull-policy", "never"], "registry.example/pbnj-worker/power-on:v9.9.9"),
  },
  {
    name: "image-unknown-to-registry",
    needs: "engine",
    provoke: async (stage) => {
      const host = await registry(stage, ({ url }, response) => {
        if (url === "/v2/") response.end("{}");
        else {
          const error = { code: "MANIFEST_UNKNOWN", message: "manifest unknown" };
          response.writeHead(404, { "content-type": "application/json" });
          response.end(JSON.stringify({ errors: [error] }));
        }
      });
      return containerFailure(stage, [], `${host}/pbnj-worker/power-on:v0.1.0`);
    },
  },
  {
    name: "image-pull-refused",
    needs: "engine",
    provoke: async (stage) => {
      const host = await registry(stage, (_, response) => {
        response.writeHead(401, { "www-authenticate": 'Basic realm="registry"' });
        response.end(
          JSON.stringify({ errors: [{ code: "UNAUTHORIZED", message: "authentication required" }] }),
        );
      });
      return containerFailure(stage, [], `${host}/pbnj-worker/power-on:v0.1.0`);
    },
  },
];
