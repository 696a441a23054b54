import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import { Secret } from "../../../../shared/secret.ts";
import { createCertificate } from "../../../../simulators/certificate.ts";
import { DockerRuntime } from "../../../../worker/runtimes/docker/docker-runtime.ts";
import { canary, resultStep, scriptedRequest } from "../launch-request.ts";
import { frame } from "./fake-engine.ts";

const never = new AbortController().signal;
const ID = "c0ffee";
const ours = createCertificate({ commonName: "worker", altNames: ["worker"] });
const theirs = createCertificate({ commonName: "127.0.0.1", altNames: ["127.0.0.1"] });
const result = resultStep({}).slice("result:".length);

let server: Server | undefined;
let runtime: DockerRuntime | undefined;
afterEach(async () => {
  await runtime?.close();
  server?.closeAllConnections();
  server?.close();
});

const ANSWERS: Readonly<Record<string, unknown>> = {
  "/version": { ApiVersion: "1.41" },
  "/images/x/json": { Id: "sha256:1" },
  "/containers/create": { Id: ID },
  [`/containers/${ID}/json`]: {
    Id: ID,
    State: {
      ...{ Status: "exited", ExitCode: 0 },
      ...{ StartedAt: "2026-01-01T10:00:00Z", FinishedAt: "2026-01-01T10:00:01Z" },
    },
    Config: { Labels: {} },
  },
};

/** An engine that accepts only the worker's certificate. */
async function startEngine(): Promise<{ port: number; stdin: () => string }> {
  let stdin = "";
  server = createServer(
    { key: theirs.key, cert: theirs.cert, ca: ours.cert, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const path = (request.url ?? "").replace(/^\/v1\.41/, "").replace(/\?.*/, "");
      request.resume();
      response.end(JSON.stringify(ANSWERS[path.startsWith("/images/") ? "/images/x/json" : path] ?? {}));
    },
  );
  server.on("upgrade", (_, socket: TLSSocket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      stdin += chunk.toString();
    });
    // Output that arrives together with the headers is not lost.
    socket.cork();
    socket.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    socket.write(frame("stdout", `first\n${result}\n`));
    socket.uncork();
  });
  const started = server;
  await new Promise<void>((resolve) => started.listen(0, "127.0.0.1", resolve));
  return { port: (started.address() as AddressInfo).port, stdin: () => stdin };
}

function connect(port: number, ca = theirs.cert, own = ours): DockerRuntime {
  const tls = { ca, certificate: own.cert, key: new Secret(own.key) };
  runtime = new DockerRuntime({
    log: silentLogger,
    container: { worker: "w" },
    remote: { host: "127.0.0.1", port, tls },
  });
  return runtime;
}

describe("an engine behind TLS", () => {
  it("runs an action, with the connection on the attached stream", async () => {
    const { port, stdin } = await startEngine();
    const { request, lines } = scriptedRequest([], { connected: true });

    const { outcome } = await connect(port).run(request, never);

    expect(outcome).toMatchObject({ ok: true, message: "done" });
    expect(lines.map(({ line }) => line)).toEqual(["first"]);
    expect(JSON.parse(stdin())).toMatchObject({ password: canary });
  });

  it.each([
    ["engine's certificate is of another authority", ours.cert, ours],
    ["engine does not accept the worker's", theirs.cert, theirs],
  ])("receives nothing if the %s", async (_, ca, own) => {
    const { port, stdin } = await startEngine();
    const request = scriptedRequest([], { connected: true, timeoutMs: 300 }).request;

    const { outcome } = await connect(port, ca, own).run(request, never);

    expect(outcome.ok).toBe(false);
    expect(["tls", "unreachable"]).toContain(outcome.class);
    expect(outcome.message).toContain(`tcp://127.0.0.1:${port}`);
    expect(stdin()).toBe("");
  });
});
