import { once } from "node:events";
import { chmod } from "node:fs/promises";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import type { TinkServer } from "../../../simulators/tink/server.ts";
import type { Failure, Seen } from "./failure.ts";
import { REFUSING } from "./machines.ts";
import type { Stage } from "./stage.ts";

const OTHER_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/** The settings of a worker with containers. */
async function settingsWith(stage: Stage, server: TinkServer, argv: readonly string[]) {
  const inventory = await stage.inventory(REFUSING);
  const policy = await stage.file("policy.yaml", 'trustedImages: ["**"]\n');
  const files = ["--inventory", inventory, "--policy", policy];
  return ["--grpc-server", server.address, ...files, "--runtime", "docker", ...argv];
}

/** One action in a container, with what the workflow says of it in the end. */
async function containerFailure(stage: Stage, argv: readonly string[], image: string): Promise<Seen> {
  const server = await stage.tink();
  stage.start(await settingsWith(stage, server, argv));
  return stage.statusOf(await stage.ending(server, { name: "power-on", image, timeout: 60 }));
}

const START = "pbnj-worker start --runtime docker --policy /etc/pbnj-worker/policy.yaml";

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
    provoke: async (stage) => {
      const socket = join(stage.folder, "docker.sock");
      stage.hide(socket, "/var/run/docker.sock");
      const settings = await settingsWith(stage, await stage.tink(), ["--docker-socket", socket]);
      return stage.logged(stage.start(settings), "runtime cannot launch actions, polling stopped");
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
      const settings = await settingsWith(stage, await stage.tink(), ["--docker-socket", socket]);
      const worker = stage.startProcess([...settings, "--log-level", "error"], {}, OTHER_USER);
      const { code } = await worker.ended;
      const text = stage.normal(worker.stderr).trimEnd();
      return { terminal: { command: START, text, exitCode: code } };
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
