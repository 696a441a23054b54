import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LabelledMachine } from "../../../worker/document/labels.ts";
import { agentIdOf, machineNameOf } from "../../../worker/machines/agent-id.ts";
import { lockKeyOf } from "../../../worker/machines/lock-key.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { resolveMachine } from "../../../worker/machines/resolve-machine.ts";
import { SecretCommands } from "../../../worker/machines/secret-commands.ts";

const PATTERN = "pbnj-{machine}";

function inventory() {
  const text =
    "machines:\n  - {name: node-1, host: BMC-1.example.org}\n  - {name: node-2, host: '2001:db8::2'}\n";
  const parsed = parseInventory({ path: "i.yaml", text, env: {}, readFile: () => "" });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

function resolve(
  agentId: string,
  environment: Readonly<Record<string, string>> = {},
  command: readonly string[] = [],
) {
  return resolveMachine({ agentId, environment, command }, inventory(), PATTERN);
}

describe("the machine of an action", () => {
  it("is the one MACHINE names, whatever fixed agent ID the task has", async () => {
    const resolved = resolve("pbnj", { MACHINE: "node-2" });

    expect(resolved).toMatchObject({ ok: true, machine: "node-2", lockKey: "2001:db8::2" });
    if (!resolved.ok || !("connect" in resolved)) throw new Error("no connection");
    const reading = { commands: new SecretCommands(), signal: new AbortController().signal };
    expect(await resolved.connect(reading)).toMatchObject({ machine: "node-2", host: "2001:db8::2" });
  });

  it("is else the one of the agent ID", () => {
    expect(resolve("pbnj-node-1")).toMatchObject({
      ok: true,
      machine: "node-1",
      lockKey: "bmc-1.example.org",
    });
    expect(resolve("pbnj-node-1", { MACHINE: "" })).toMatchObject({ machine: "node-1" });
    expect(resolve("pbnj-node-1", { MACHINE: "node-1" })).toMatchObject({ machine: "node-1" });
  });

  it("is none when the action brings its own connection, which is locked all the same", () => {
    expect(resolve("pbnj", { BMC_HOST: "BMC-1.Example.org", BMC_PASSWORD: "x" })).toEqual({
      ok: true,
      lockKey: "bmc-1.example.org",
    });
    expect(resolve("pbnj", {}, ["--bmc-host=one", "--bmc-host", "Two"])).toEqual({
      ok: true,
      lockKey: "two",
    });
    expect(resolve("pbnj", { BMC_HOST: "one" }, ["--bmc-host=two"])).toEqual({ ok: true, lockKey: "two" });
  });

  it("is locked by the service where one stands for its BMC", () => {
    const host = { BMC_HOST: "rack 3" };

    expect(resolve("pbnj", { ...host, RPC_URL: "HTTP://hooks.example:80/" })).toEqual({
      ok: true,
      lockKey: "rpc http://hooks.example rack 3",
    });
    expect(
      resolve("pbnj", { ...host, HOMEASSISTANT_URL: "http://ha", HOMEASSISTANT_ENTITY: "switch.a" }),
    ).toEqual({ ok: true, lockKey: "homeassistant http://ha switch.a" });
    expect(resolve("pbnj", { IRONIC_URL: "http://ironic:6385/", IRONIC_NODE: "n-1" })).toEqual({
      ok: true,
      lockKey: "ironic http://ironic:6385 n-1",
    });
    expect(resolve("pbnj", { BMC_HOST: "one", AMT_PORT: "7000" })).toEqual({
      ok: true,
      lockKey: "one amt:7000",
    });
  });

  it("is none when nothing names one", () => {
    expect(resolve("pbnj")).toEqual({ ok: true });
    expect(resolve("pbnj-node-9", { BMC_HOST: " " })).toEqual({ ok: true });
  });
});

describe("an action is refused", () => {
  it("when the inventory does not have its machine", () => {
    expect(resolve("pbnj", { MACHINE: "node1" })).toEqual({
      ok: false,
      reason: "MACHINE is node1, which the inventory does not have, did you mean node-1?",
    });
    expect(resolve("pbnj", { MACHINE: "something-else" })).toEqual({
      ok: false,
      reason: "MACHINE is something-else, which the inventory does not have",
    });
  });

  it("when MACHINE and the agent ID name different machines, by variable or by flag", () => {
    const reason = "MACHINE is node-2, but the agent ID pbnj-node-1 belongs to machine node-1";

    expect(resolve("pbnj-node-1", { MACHINE: "node-2" })).toEqual({ ok: false, reason });
    expect(resolve("pbnj-node-1", {}, ["--machine", "node-2"])).toEqual({ ok: false, reason });
  });

  it.each([
    ["BMC_HOST", "pbnj", { MACHINE: "node-1", BMC_HOST: "192.0.2.9" }, []],
    ["BMC_PASSWORD", "pbnj-node-1", { BMC_PASSWORD: "canary" }, []],
    ["IPMI_PORT", "pbnj-node-1", { IPMI_PORT: "6230" }, []],
    ["AMT_PORT", "pbnj-node-1", { AMT_PORT: "6230" }, []],
    ["RPC_URL", "pbnj-node-1", {}, ["--rpc-url=http://x"]],
    ["BMC_HOST", "pbnj-node-1", {}, ["--bmc-host=192.0.2.9"]],
  ])("when it has a machine and brings %s too", (name, agentId, environment, command) => {
    const resolved = resolve(agentId, environment, command);

    expect(resolved).toEqual({
      ok: false,
      reason: `the action is for machine node-1 and brings ${name}: the inventory has the connection`,
    });
  });

  it("when it wants to read a connection of its own, whose BMC could not be locked", () => {
    expect(resolve("pbnj", { BMC_CONNECTION_FILE: "/mounted/connection" })).toEqual({
      ok: false,
      reason: "BMC_CONNECTION_FILE is set by the worker: name a machine with MACHINE",
    });
  });
});

describe("a machine that the action may not use", () => {
  const mayUse = (...names: readonly string[]) => {
    return ({ name }: LabelledMachine) =>
      names.includes(name)
        ? ({ allowed: true } as const)
        : ({ allowed: false, reason: `not ${name}` } as const);
  };
  const resolveFor = (
    names: readonly string[],
    agentId: string,
    environment: Readonly<Record<string, string>> = {},
  ) => resolveMachine({ agentId, environment, command: [] }, inventory(), PATTERN, mayUse(...names));

  it("is refused whether it is named or the agent ID's", () => {
    expect(resolveFor(["node-1"], "pbnj", { MACHINE: "node-1" })).toMatchObject({ machine: "node-1" });
    expect(resolveFor(["node-1"], "pbnj", { MACHINE: "node-2" })).toEqual({
      ok: false,
      reason: "not node-2",
    });
    expect(resolveFor(["node-1"], "pbnj-node-2")).toEqual({ ok: false, reason: "not node-2" });
    expect(resolveFor([], "pbnj")).toEqual({ ok: true });
  });

  it("is refused in the same words when it does not exist", () => {
    expect(resolveFor(["node-1"], "pbnj", { MACHINE: "node-3" })).toEqual({
      ok: false,
      reason: "not node-3",
    });
  });

  it("is not what a misspelt name was probably meant to be", () => {
    const asked = { MACHINE: "node-11" };

    expect(resolveFor(["node-11", "node-1"], "pbnj", asked)).toMatchObject({
      reason: "MACHINE is node-11, which the inventory does not have, did you mean node-1?",
    });
    expect(resolveFor(["node-11"], "pbnj", asked)).toEqual({
      ok: false,
      reason: "MACHINE is node-11, which the inventory does not have",
    });
  });

  it("is refused before anything is said of it that does not fit the action", () => {
    expect(resolveFor(["node-1"], "pbnj-node-2", { MACHINE: "node-1" })).toEqual({
      ok: false,
      reason: "not node-2",
    });
    expect(resolveFor([], "pbnj-node-1", { BMC_HOST: "192.0.2.9" })).toEqual({
      ok: false,
      reason: "not node-1",
    });
  });
});

describe("agent IDs of machines", () => {
  it("lead back to the machine they were made from", () => {
    const part = fc.stringMatching(/^[a-z0-9-]{0,8}$/);
    fc.assert(
      fc.property(part, part, fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,20}$/), (before, after, name) => {
        const pattern = `${before}{machine}${after}`;
        expect(machineNameOf(pattern, agentIdOf(pattern, name))).toBe(name);
      }),
    );
  });

  it("are no machine's when the pattern does not fit", () => {
    expect(machineNameOf("a-{machine}-b", "a-b")).toBeUndefined();
    expect(machineNameOf("a-{machine}-b", "a--b")).toBeUndefined();
    expect(machineNameOf("a-{machine}-a-", "a-a-")).toBeUndefined();
    expect(machineNameOf("a-{machine}", "b-node")).toBeUndefined();
  });
});

describe("lock keys", () => {
  it.each([
    ["BMC.Example.ORG.", "bmc.example.org"],
    ["[2001:DB8:0:0::1]", "2001:db8::1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["[::ffff:c000:201]", "192.0.2.1"],
    ["127.1", "127.0.0.1"],
    ["2130706433", "127.0.0.1"],
    ["0x7f000001", "127.0.0.1"],
    ["0177.0.0.1", "127.0.0.1"],
    ["127.0.0.1.", "127.0.0.1"],
    ["fe80::1%eth0", "fe80::1%eth0"],
    [" 192.0.2.1 ", "192.0.2.1"],
  ])("of %s is %s", (host, key) => {
    expect(lockKeyOf(host)).toBe(key);
  });

  it("have no usual port in them, so that Redfish and IPMI of one BMC are one", () => {
    expect(lockKeyOf("bmc", { redfish: 443, ipmi: 623 })).toBe(lockKeyOf("bmc"));
  });

  it("distinguish BMCs behind one gateway by their ports", () => {
    expect(lockKeyOf("gateway", { redfish: 8_001 })).not.toBe(lockKeyOf("gateway", { redfish: 8_002 }));
    expect(lockKeyOf("gateway", { ipmi: 8_001 })).not.toBe(lockKeyOf("gateway", { redfish: 8_001 }));
  });
});
