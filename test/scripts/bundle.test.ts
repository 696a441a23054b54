import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import * as undici from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { catalogue } from "../../actions/catalogue.ts";
import { bundleAction, bundleActions, LICENSES_FILE } from "../../scripts/bundle/bundle.ts";
import { parseResultLine } from "../../shared/contract/result.ts";

let directory: string;

/** An environment with nothing of this one's that an action would read. */
const environment = { PATH: process.env["PATH"] ?? "" };

function runBundle(name: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  return execa(process.execPath, [join(directory, `${name}.mjs`), ...args], {
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
  await bundleActions(catalogue, directory);
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe("a bundled action", () => {
  it.each(catalogue)("%s runs away from the sources and shows its help", async (name) => {
    const { exitCode, stdout } = await runBundle(name, ["--help"]);

    expect(exitCode).toBe(0);
    expect(stdout).toContain(name);
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

  it("carries the licences of what is in it", async () => {
    const text = await readFile(join(directory, LICENSES_FILE), "utf8");

    expect(text).toMatch(/^undici \d+\.\d+\.\d+ \(MIT\)$/m);
    expect(text).toMatch(/^zod \d+\.\d+\.\d+ \(MIT\)$/m);
    expect(text).toContain("Permission is hereby granted, free of charge");
    expect(text).not.toMatch(/^typescript /m);
  });
});

describe("the slim undici", () => {
  it("exports the package's own names and objects", async () => {
    const slim: Record<string, unknown> = await import("../../scripts/bundle/slim-undici.mjs");

    expect(Object.keys(slim).sort()).toEqual(["Client", "Dispatcher", "buildConnector", "errors"]);
    const real: Record<string, unknown> = { ...undici };
    for (const [name, value] of Object.entries(slim)) expect(value).toBe(real[name]);
  });

  it("keeps the rest of undici out of an action", async () => {
    const metafile = await bundleAction("power-off", join(directory, "inspected.mjs"));

    const inputs = Object.keys(metafile.inputs);
    expect(inputs).toContain("node_modules/undici/lib/dispatcher/client.js");
    expect(inputs).not.toContain("node_modules/undici/index.js");
    expect(inputs).not.toContain("node_modules/undici/lib/dispatcher/pool.js");
  });

  it.each([
    [`import { Pool } from "undici"; console.log(Pool);`, /No matching export .* "Pool"/],
    [`import * as undici from "undici"; console.log(undici.Pool);`, /"Pool" .*undefined/],
    [`const { Pool } = await import("undici"); console.log(Pool);`, /import undici by name and statically/],
  ])("fails the build on %j", async (entry, message) => {
    await expect(bundleAction("probe", join(directory, "probe.mjs"), entry)).rejects.toThrow(message);
  });
});
