import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { loadConfig } from "../../../worker/main/load-config.ts";
import { decide } from "../../../worker/policy/decide.ts";
import { circumstances } from "../../support/circumstances.ts";

const example = (name: string) => fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));

it("the example configuration, with its inventory and policy, starts a worker", () => {
  const loaded = loadConfig({ flags: { config: example("worker.yaml") }, env: {} });

  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { config } = loaded;
  expect(config.agentIds).toEqual(["pbnj", ...config.inventory.machines().map(({ name }) => `pbnj-${name}`)]);
  expect(config.inventory.machines().map(({ name }) => name)).toEqual([
    "node-1",
    "node-2",
    "node-3",
    "old-1.lab",
    "mounted-1",
    "vaulted-1",
    "lab-1",
  ]);
  expect(config.runtime).toMatchObject({ kind: "docker", cpus: 0.5 });
  const action = {
    image: "registry.example/pbnj-worker/power-on:1",
    volumes: ["/srv/images:/data/images:ro"],
    environment: {},
    command: [],
    workflowId: "default/w",
  };
  expect(decide(config.policy, circumstances, action)).toEqual({ allowed: true });
  expect(decide(config.policy, circumstances, { ...action, image: "alpine" })).toMatchObject({
    rule: "images",
  });
  expect(loaded.warnings.every(({ message }) => /(does not exist|is not set)$/.test(message))).toBe(true);
});
