import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createSecureServer } from "node:http2";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { execa } from "execa";
import { beforeAll, describe, expect, it } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { ACTION_FILE, bundleActions, LICENSES_FILE, SCRIPT_FOLDER } from "../../../scripts/bundle/bundle.ts";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { createCertificate, fingerprintOf } from "../../../simulators/certificate.ts";
import { fileFolder } from "../../support/test-folder.ts";
import { loadedAtStart } from "./loaded-at-start.ts";

const { folder: directory } = await fileFolder();
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
  ({ metafile } = await bundleActions(catalogue, directory));
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

  it("reads the power over HTTP/1.1 of a BMC that would rather speak HTTP/2", async () => {
    await using bmc = await startModernBmc();

    const { exitCode, stdout } = await runBundle("power-status", [], bmc.env);

    expect(parseResultLine(stdout)).toMatchObject({ ok: true, message: "on via redfish" });
    expect(exitCode).toBe(0);
    expect(new Set(bmc.versions)).toEqual(new Set(["1.1"]));
  });

  it("carries the licences of what is in it, and names it for scanners", async () => {
    const text = await readFile(join(directory, SCRIPT_FOLDER, LICENSES_FILE), "utf8");

    expect(text).toMatch(/^pino \d+\.\d+\.\d+ \(MIT\)$/m);
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

it("no action contains undici, whose parser is compiled at each start", () => {
  expect(Object.keys(metafile.inputs).filter((input) => input.includes("/undici/"))).toEqual([]);
});

describe("pino's transports", () => {
  it("are not in an action's bundle", () => {
    const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
    const sizes = new Map(inputs.map(([input, { bytesInOutput }]) => [input, bytesInOutput]));

    expect(sizes.get("node_modules/pino/lib/transport.js")).toBeLessThan(500);
    expect(sizes.has("node_modules/thread-stream/index.js")).toBe(false);
  });

  it("say so where they are used after all", async () => {
    const entry = `import { pino } from "pino"; pino({ transport: { target: "pino-pretty" } });`;
    await bundleActions(["probe"], join(directory, "probes"), entry);

    const { exitCode, stderr } = await runBundle("probes/probe");

    expect(exitCode).not.toBe(0);
    expect(stderr).toContain("Error: an action's log goes to stderr, without pino's transports");
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
