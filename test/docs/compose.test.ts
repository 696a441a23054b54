import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { parseDurationMs } from "../../shared/duration.ts";
import { loadConfig } from "../../worker/main/load-config.ts";
import { settings } from "../../worker/main/settings.ts";
import { commandProblems } from "./command-line.ts";

const text = await readFile("deploy/compose.yaml", "utf8");
const example = await readFile("deploy/compose.env", "utf8");
const dockerfile = await readFile("Dockerfile.worker", "utf8");

const Volume = z.object({
  type: z.string(),
  source: z.string(),
  target: z.string(),
  read_only: z.boolean().optional(),
});
const Service = z.object({
  image: z.string(),
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()),
  ports: z.array(z.string()),
  volumes: z.array(Volume.loose()),
  secrets: z.array(z.string()),
  user: z.string(),
  group_add: z.array(z.string()),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal("ALL")]),
  security_opt: z.tuple([z.literal("no-new-privileges:true")]),
  privileged: z.never().optional(),
  healthcheck: z.object({ test: z.array(z.string()) }).loose(),
  stop_grace_period: z.string(),
});
const Compose = z.object({
  services: z.object({ worker: Service.loose() }),
  volumes: z.record(z.string(), z.unknown()),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});

const compose = Compose.parse(parse(text));
const { worker } = compose.services;

/** `NAME=value` lines, as Compose reads them. */
const values = Object.fromEntries(
  example.split("\n").flatMap((line) => (/^\w+=/.test(line) ? [line.split("=", 2) as [string, string]] : [])),
);

/** Puts in the values of the example file, as Compose does. */
function filledIn(given: string): string {
  return given.replaceAll(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_, name: string, kind: string, rest: string) => {
      const value = values[name] ?? (kind === "-" ? rest : undefined);
      if (value === undefined) throw new Error(`${name} has no value`);
      return value;
    },
  );
}

describe("the Compose file", () => {
  it("takes variables that its example has, each of them", () => {
    const used = new Set([...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => name));

    expect([...used].sort()).toEqual(Object.keys(values).sort());
  });

  it("gives the worker settings that it knows and takes", () => {
    const environment = Object.fromEntries(
      Object.entries(worker.environment).map(([name, value]) => [name, filledIn(value)]),
    );
    const files: Readonly<Record<string, string>> = {
      "/etc/pbnj-worker/inventory.yaml":
        "machines:\n  - name: node-1\n    host: 192.0.2.11\n" +
        "    credentials: {username: admin, passwordFile: /run/secrets/bmc-password}\n",
      "/etc/pbnj-worker/policy.yaml": "trustedImages: [registry.example/**]\n",
      "/run/secrets/bmc-password": "secret\n",
    };
    const readText = (path: string) => {
      const held = files[path];
      if (held === undefined) throw Object.assign(new Error(path), { code: "ENOENT" });
      return held;
    };

    const loaded = loadConfig({ flags: {}, env: environment, readFile: readText });

    expect(settings.map(({ env }) => env)).toEqual(expect.arrayContaining(Object.keys(environment)));
    expect(loaded).toMatchObject({ ok: true, warnings: [] });
    if (!loaded.ok) return;
    const grace = parseDurationMs(worker.stop_grace_period) ?? 0;
    expect(grace).toBeGreaterThanOrEqual(loaded.config.shutdownGraceMs + loaded.config.stopGraceMs + 30_000);
    expect(loaded.config.runtime.kind).toBe("docker");
    expect(worker.volumes.map(({ target }) => target)).toEqual(
      expect.arrayContaining([loaded.config.stateDirectory, "/var/run/docker.sock"]),
    );
  });

  it("starts a command of the program, as the image's user", async () => {
    const [, user] = /^USER (\S+)$/m.exec(dockerfile) ?? [];

    expect(await commandProblems(["pbnj-worker", ...worker.command])).toEqual([]);
    expect(worker.user).toBe(user);
  });

  it("can be reached from its own host alone, where its health is asked for as well", () => {
    const { test } = worker.healthcheck;

    expect(worker.ports).toEqual(["127.0.0.1:42180:42180"]);
    expect(test.slice(0, 3)).toEqual(["CMD", "node", "--eval"]);
    expect(test[3]).toContain("http://127.0.0.1:42180/readyz");
    expect(() => new Function(test[3] ?? "(")).not.toThrow();
  });
});
