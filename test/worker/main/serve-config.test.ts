import { describe, expect, it } from "vitest";
import { Secret } from "../../../shared/secret.ts";
import { resolveMachine } from "../../../worker/machines/resolve-machine.ts";
import { SecretCommands } from "../../../worker/machines/secret-commands.ts";
import { examineConfig, loadConfig } from "../../../worker/main/load-config.ts";

const env = { XDG_STATE_HOME: "/var/state" };

function problems(flags: Readonly<Record<string, unknown>>, command: "start" | "serve" = "start") {
  const loaded = loadConfig(
    { flags, env, readFile: () => "trustedImages: ['registry.example/acme/*']" },
    command,
  );
  return loaded.ok ? [] : loaded.problems.map(({ message }) => message);
}

describe("the configuration of pbnj-worker serve", () => {
  it("needs nothing, polls no tink server, and listens on loopback", () => {
    const loaded = loadConfig({ flags: { grpcServer: "tink.example.org", agentId: ["a"] }, env }, "serve");

    expect(loaded).toMatchObject({
      ok: true,
      config: { agentIds: [], fixedAgentIds: [], pbnj: { address: { host: "127.0.0.1", port: 50_051 } } },
    });
    expect(loaded.ok && loaded.config.server).toBeUndefined();
    expect(problems({ agentId: ["a"], pbnjAddress: "127.0.0.1:1" })).toEqual([
      "is missing: the tink server's address, host:port",
    ]);
  });

  it("is what the doctor examines with an address and without a tink server", () => {
    const examined = examineConfig({ flags: { pbnjAddress: "127.0.0.1:0" }, env });

    expect(examined.found.settings.problems).toEqual([]);
  });

  it.each([
    [{ runtime: "docker", policy: "policy.yaml" }, "does what PBnJ's API is asked for: add pbnj-worker/*"],
    [{ pbnjImage: "registry.example/all" }, "must be an image with {action} once"],
    [{ pbnjAddress: "off" }, "must be host:port"],
  ])("has rules: %j", (flags, problem) => {
    expect(problems(flags, "serve").join()).toContain(problem);
  });
});

describe("a BMC that a request brings", () => {
  const inventory = JSON.stringify({
    defaults: { tls: { verify: false }, ipmi: { port: 6_230 }, rpc: { url: "http://hook.example" } },
    machines: [],
  });

  it("has the options of the inventory's defaults, and the lock of its address", async () => {
    const loaded = loadConfig({ flags: { inventory: "i.yaml" }, env, readFile: () => inventory }, "serve");
    if (!loaded.ok) throw new Error("not loaded");
    const bmc = { host: "192.0.2.7", username: "root", password: new Secret("calvin") };
    const action = { agentId: "pbnj", command: [], environment: {}, secrets: { bmc } };
    const found = resolveMachine(action, loaded.config.inventory, "pbnj-{machine}");

    expect(found).toMatchObject({ ok: true, lockKey: "192.0.2.7 ipmi:6230" });
    const reading = { commands: new SecretCommands(), signal: new AbortController().signal };
    const connection = found.ok && "connect" in found && (await found.connect?.(reading));
    expect(connection).toMatchObject({
      ...{ host: "192.0.2.7", username: "root", providers: ["redfish", "ipmi"] },
      ...{ tls: { verify: false }, ipmi: { port: 6_230 } },
    });
  });
});
