import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createSecureServer } from "node:http2";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { execa } from "execa";
import * as undici from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { ACTION_FILE, bundleActions, LICENSES_FILE, SCRIPT_FOLDER } from "../../../scripts/bundle/bundle.ts";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { createCertificate, fingerprintOf } from "../../../simulators/certificate.ts";
import { loadedAtStart } from "./loaded-at-start.ts";

let directory: string;
let metafile: Metafile;

/** An environment with nothing of this one's that an action would read. */
const environment = { PATH: process.env["PATH"] ?? "" };

function runBundle(name: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  return execa(process.execPath, [join(directory, name, ACTION_FILE), ...args], {
    cwd: tmpdir(),
    env: { ...environment, ...env },
    extendEnv: false,
    reject: false,
    stdin: "ignore",
    timeout: 20_000,
  });
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "pbnj-bundle-"));
  ({ metafile } = await bundleActions(catalogue, directory));
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe("a bundled action", () => {
  it("has every action in one script, which imports nothing but Node's modules", () => {
    const outputs = Object.values(metafile.outputs);

    const others = outputs.flatMap(({ imports }) => imports).filter(({ path }) => !isBuiltin(path));
    const actions = catalogue.map((name) => `actions/${name}/action.ts`);
    expect(outputs.flatMap(({ inputs }) => Object.keys(inputs))).toEqual(expect.arrayContaining(actions));
    expect(outputs).toHaveLength(1);
    expect(others).toEqual([]);
  });

  it("runs away from the sources and shows its help", async () => {
    const { exitCode, stdout } = await runBundle("power-off", ["--help"]);

    expect(exitCode).toBe(0);
    expect(stdout).toContain("power-off");
  });

  it("fails with usage and a result when it is given nothing", async () => {
    const { exitCode, stdout } = await runBundle("power-off");

    expect(exitCode).toBe(2);
    expect(parseResultLine(stdout.split("\n").at(-1) ?? "")).toMatchObject({
      action: "power-off",
      ok: false,
      class: "usage",
    });
  });

  it.each(["redfish", "ipmi"])("reaches out with the %s provider", async (provider) => {
    const { exitCode, stdout } = await runBundle("power-status", [], {
      BMC_HOST: "127.0.0.1",
      BMC_USERNAME: "admin",
      BMC_PASSWORD: "secret",
      BMC_PROVIDERS: provider,
      REDFISH_PORT: "1",
      IPMI_PORT: "1",
      BMC_CONNECT_TIMEOUT: "1s",
    });

    const result = parseResultLine(stdout.split("\n").at(-1) ?? "");
    expect(result).toMatchObject({ ok: false });
    expect(["unreachable", "timeout"]).toContain(result?.class);
    expect([11, 16]).toContain(exitCode);
  });

  it.each([
    ["as it is", {}],
    ["where undici is told to do without SIMD", { UNDICI_NO_WASM_SIMD: "1", JEST_WORKER_ID: "1" }],
  ])("reads the power over HTTP/1.1 of a BMC that would rather speak HTTP/2, %s", async (_, env) => {
    await using bmc = await startModernBmc();

    const { exitCode, stdout } = await runBundle("power-status", [], { ...bmc.env, ...env });

    expect(parseResultLine(stdout)).toMatchObject({ ok: true, message: "on via redfish" });
    expect(exitCode).toBe(0);
    expect(new Set(bmc.versions)).toEqual(new Set(["1.1"]));
  });

  it("logs lines of JSON, and readable text to a terminal", async () => {
    await using bmc = await startModernBmc();
    const env = { ...bmc.env, LOG_LEVEL: "debug" };
    const terminal = "data:text/javascript,process.stderr.isTTY=true";

    const toFile = await runBundle("power-status", [], env);
    const toTerminal = await runBundle("power-status", [], { ...env, NODE_OPTIONS: `--import=${terminal}` });

    expect(JSON.parse(toFile.stderr)).toMatchObject({
      level: 20,
      action: "power-status",
      msg: "BMC answered",
    });
    expect(toTerminal.stderr).toMatch(/DEBUG.*: .*BMC answered/);
    expect(toTerminal.stderr).toMatch(/: on \(redfish, \S+ s\)$/);
  });

  it("carries the licences of what is in it, and names it for scanners", async () => {
    const text = await readFile(join(directory, SCRIPT_FOLDER, LICENSES_FILE), "utf8");

    expect(text).toMatch(/^undici \d+\.\d+\.\d+ \(MIT\)$/m);
    expect(text).toMatch(/^zod \d+\.\d+\.\d+ \(MIT\)$/m);
    expect(text).toMatch(/^yaml \d+\.\d+\.\d+ \(ISC\)$/m);
    expect(text).toContain("Permission is hereby granted, free of charge");
    expect(text).not.toMatch(/^typescript /m);
    const named = await readFile(join(directory, SCRIPT_FOLDER, "node_modules/zod/package.json"), "utf8");
    expect(JSON.parse(named)).toEqual({ name: "zod", version: expect.any(String), license: "MIT" });
  });
});

it("an action loads nothing of traces when it starts", () => {
  const traces = /span-recorder|action-trace\.ts/;

  expect(loadedAtStart(metafile, "actions/power-off/action.ts", traces)).toEqual([]);
  expect(loadedAtStart(metafile, "actions/run-named.ts", traces)).toEqual([]);
});

describe("the slim undici", () => {
  it("exports the package's own names and objects", async () => {
    const slim: Record<string, unknown> = await import("../../../scripts/bundle/slim-undici.mjs");

    expect(Object.keys(slim).sort()).toEqual(["Client", "Dispatcher", "buildConnector", "errors"]);
    const real: Record<string, unknown> = { ...undici };
    for (const [name, value] of Object.entries(slim)) expect(value).toBe(real[name]);
  });

  it("keeps the rest of undici out of an action", () => {
    const inputs = Object.keys(metafile.inputs);
    expect(inputs).toContain("node_modules/undici/lib/dispatcher/client.js");
    expect(inputs).not.toContain("node_modules/undici/index.js");
    expect(inputs).not.toContain("node_modules/undici/lib/dispatcher/pool.js");
  });

  it.each([
    [`import { Pool } from "undici"; console.log(Pool);`, /No matching export .* "Pool"/],
    [`import * as undici from "undici"; console.log(undici.Pool);`, /"Pool" .*undefined/],
    [`import("undici").then(({ Pool }) => console.log(Pool));`, /import undici by name and statically/],
  ])("fails the build on %j", async (entry, message) => {
    await expect(bundleActions(["probe"], join(directory, "probes"), entry)).rejects.toThrow(message);
  });
});

describe("what no action reaches", () => {
  it("is not in its bundle", () => {
    const inputs = Object.values(metafile.outputs).map((output) => output.inputs);
    const bytesOf = (file: string) =>
      inputs.flatMap((input) => input[`node_modules/${file}`]?.bytesInOutput ?? [])[0];
    expect(bytesOf("undici/lib/llhttp/llhttp_simd-wasm.js")).toBeGreaterThan(50_000);
    for (const file of [
      "undici/lib/llhttp/llhttp-wasm.js",
      "undici/lib/dispatcher/client-h2.js",
      "pino/lib/transport.js",
    ]) {
      expect(bytesOf(file)).toBeLessThan(500);
    }
    expect(bytesOf("thread-stream/index.js")).toBeUndefined();
  });

  it.each([
    [
      `import { pino } from "pino"; pino({ transport: { target: "pino-pretty" } });`,
      "an action's log goes to stderr, without pino's transports and their threads",
    ],
    [
      `import data from "undici/lib/llhttp/llhttp-wasm.js"; console.log(data);`,
      "the HTTP parser needs WebAssembly with SIMD, as Node 24 has it on amd64 and arm64",
    ],
    [
      `import connect from "undici/lib/dispatcher/client-h2.js"; connect();`,
      "no action offers HTTP/2 to a BMC (allowH2 is false), so none can choose it",
    ],
  ])("says so where it is used after all: %s", async (entry, reason) => {
    await bundleActions(["probe"], join(directory, "probes"), entry);

    const { exitCode, stderr } = await runBundle("probes/probe");

    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(`Error: ${reason}`);
  });
});

/** A Redfish BMC behind TLS that prefers HTTP/2 to HTTP/1.1, with the versions it was spoken to in. */
async function startModernBmc() {
  const certificate = createCertificate({ commonName: "BMC", altNames: ["127.0.0.1"] });
  const system = { "@odata.id": "/redfish/v1/Systems/1", Id: "1", PowerState: "On" };
  const versions: string[] = [];
  const server = createSecureServer(
    { ...certificate, allowHTTP1: true },
    ({ httpVersion, url }, response) => {
      versions.push(httpVersion);
      const body = url?.endsWith("/1") ? system : { Members: [{ "@odata.id": system["@odata.id"] }] };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(body));
    },
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    versions,
    env: {
      BMC_HOST: "127.0.0.1",
      BMC_USERNAME: "admin",
      BMC_PASSWORD: "secret",
      BMC_PROVIDERS: "redfish",
      BMC_TLS_FINGERPRINT: fingerprintOf(certificate),
      REDFISH_PORT: String(address.port),
    },
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}
