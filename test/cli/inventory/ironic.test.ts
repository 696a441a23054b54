import { afterEach, describe, expect, it } from "vitest";
import { composeInventory } from "../../../cli/inventory/import/compose-inventory.ts";
import { listIronic } from "../../../cli/inventory/import/ironic.ts";
import { type IronicOptions, type IronicServer, startIronic } from "../../../simulators/ironic/server.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { parseEntries } from "../../../worker/machines/parse-inventory.ts";

let server: IronicServer;
afterEach(() => server.close());

async function start(options: IronicOptions = {}, names: readonly string[] = ["node-1"]): Promise<void> {
  const machines = Object.fromEntries(names.map((name) => [name, new SimulatedMachine()]));
  server = await startIronic({ tls: "http", machines, ...options });
}

describe("the nodes of Ironic", () => {
  it("are machines of an inventory, from all pages, each with its own name or the UUID", async () => {
    await start({ auth: "basic" }, ["node-1", "Node-2", "not_a_name"]);
    const env = {
      IRONIC_URL: server.http.url,
      IRONIC_AUTH: "basic",
      BMC_USERNAME: "admin",
      BMC_PASSWORD: "ironic-calvin",
    };

    const imported = await listIronic(env, "secrets");
    const composed = composeInventory(imported, "secrets");

    expect(imported.problems).toEqual([]);
    if (!composed.ok) throw new Error("not composed");
    const { text, secrets } = composed.value;
    expect(text).toBe(`# Written by pbnj-worker inventory import.
defaults:
  ironic:
    url: ${server.http.url}
    auth: basic
    allow: []
  credentials:
    username: admin
    passwordFile: secrets/ironic/password
machines:
  - name: node-1
  - name: node-2
    ironic:
      node: 27946b59-9e44-4fa7-8e91-000000000001
  - name: 27946b59-9e44-4fa7-8e91-000000000002
    ironic:
      node: 27946b59-9e44-4fa7-8e91-000000000002
`);
    expect(secrets).toMatchObject([{ machine: "ironic", file: "password" }]);
  });

  it("keep a password's own file, and need none without authentication", async () => {
    await start();
    const env = { IRONIC_URL: server.http.url };

    const imported = await listIronic(env, "secrets");
    const composed = composeInventory(imported, "secrets");

    if (!composed.ok) throw new Error("not composed");
    const { text, secrets, withoutCredentials } = composed.value;
    const parsed = parseEntries({ path: "i.yaml", text, env: {}, readFile: () => "", alone: true });
    expect(parsed.ok && parsed.value.map(({ name, host }) => [name, host])).toEqual([["node-1", "node-1"]]);
    expect({ secrets, withoutCredentials }).toEqual({ secrets: [], withoutCredentials: 0 });
  });

  it.each([
    [
      "a refused password",
      { IRONIC_AUTH: "basic", BMC_USERNAME: "admin", BMC_PASSWORD: "wrong-1" },
      /answered 401/,
    ],
    ["no password", { IRONIC_AUTH: "token" }, /password/i],
    ["no URL", { IRONIC_URL: "" }, /BMC_HOST|IRONIC_URL/],
  ])("are not listed with %s", async (_, more, message) => {
    await start({ auth: "basic" });

    const { machines, problems } = await listIronic({ IRONIC_URL: server.http.url, ...more }, "secrets");

    expect(machines).toEqual([]);
    expect(problems).toMatchObject([{ source: "ironic", message: expect.stringMatching(message) }]);
    expect(JSON.stringify(problems)).not.toContain("wrong-1");
  });
});
