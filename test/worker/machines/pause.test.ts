import { describe, expect, it } from "vitest";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { MachinePaused } from "../../../worker/machines/pause.ts";
import { resolveMachine } from "../../../worker/machines/resolve-machine.ts";
import { SecretCommands } from "../../../worker/machines/secret-commands.ts";

const { signal } = new AbortController();
const reading = { commands: new SecretCommands(), signal };

function parse(text: string) {
  return parseInventory({
    path: "/etc/rack/machines.yaml",
    text,
    env: { PASS: "calvin" },
    readFile: () => "",
  });
}

/** `r1` is out of service, `r2` is not. */
function inventory(paused = "fan replacement") {
  const credentials = { username: "root", passwordEnv: "PASS" };
  const machines = [
    { name: "r1", host: "192.0.2.1", credentials, paused },
    { name: "r2", host: "192.0.2.2", credentials },
  ];
  const parsed = parse(JSON.stringify({ machines }));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

describe("a machine that the inventory file pauses", () => {
  it("has the reason, and says which file has it", () => {
    expect(inventory().machines()).toEqual([
      {
        name: "r1",
        lockKey: "192.0.2.1",
        paused: { reason: "fan replacement", by: "inventory machines.yaml" },
      },
      { name: "r2", lockKey: "192.0.2.2" },
    ]);
  });

  it("has a reason of one printable line", () => {
    const reason = inventory("fan\u001b[31m\n\u202ereplacement").find("r1")?.paused?.reason;

    expect(reason).toBe("fan \\u202ereplacement");
  });

  it("is paused by the defaults, too, unless its entry has another reason", () => {
    const parsed = parse(
      "defaults: {paused: site is moved}\nmachines:\n  - {name: r1, host: a}\n  - {name: r2, host: b, paused: no fan}\n",
    );

    expect(parsed).toMatchObject({ ok: true });
    const reasons = parsed.ok && parsed.value.machines().map(({ paused }) => paused?.reason);
    expect(reasons).toEqual(["site is moved", "no fan"]);
  });

  it("connects to no BMC, with an error that says why", async () => {
    const all = inventory();
    const [machine] = all.machines();
    if (!machine) throw new Error("no machine");

    const failure = await all.resolveConnection(machine, reading).catch((thrown) => thrown);

    expect(failure).toBeInstanceOf(MachinePaused);
    expect(failure).toBeInstanceOf(BmcError);
    expect([failure.class, failure.message]).toEqual([
      "state",
      "machine r1 is paused: fan replacement (inventory machines.yaml)",
    ]);
    const secrets = await all.resolveConnection(machine, { ...reading, whilePaused: true });
    expect(secrets.password?.reveal()).toBe("calvin");
  });
});

describe("a reason", () => {
  const MESSAGE =
    "paused must be the reason, such as fan replacement; a machine without this key is in service";

  it.each(["", "''", "~", "true", "false", "no", "Off", "12", "{since: today}"])(
    "must not be %j, which does not say whether and why the machine is out of service",
    (value) => {
      const parsed = parse(
        `machines:\n  - {name: r1, host: a}\n  - name: r2\n    host: b\n    paused: ${value}\n`,
      );

      expect(parsed).toEqual({
        ok: false,
        problems: [{ source: "machines.yaml:5", message: `machine r2: ${MESSAGE}` }],
      });
      expect(parse(`defaults:\n  paused: ${value}\nmachines: [{name: r1, host: a}]\n`)).toEqual({
        ok: false,
        problems: [{ source: "machines.yaml:2", message: MESSAGE }],
      });
    },
  );

  it("has at most 200 characters", () => {
    expect(parse(`machines: [{name: r1, host: a, paused: ${"x".repeat(201)}}]`)).toMatchObject({
      ok: false,
      problems: [{ message: "machine r1: paused must be at most 200 characters" }],
    });
  });
});

describe("an action", () => {
  const find = (environment: Readonly<Record<string, string>>) =>
    resolveMachine({ agentId: "pbnj", environment, command: [] }, inventory(), "pbnj-{machine}");
  const paused = "machine r1 is paused: fan replacement (inventory machines.yaml)";

  it("for a paused machine carries why", () => {
    expect(find({ MACHINE: "r1" })).toMatchObject({ ok: true, machine: "r1", paused });
    expect(find({ MACHINE: "r2" })).not.toHaveProperty("paused");
  });

  it("with an address of its own carries why, if that is the BMC of a paused machine", () => {
    expect(find({ BMC_HOST: "192.0.2.1" })).toMatchObject({ ok: true, lockKey: "192.0.2.1", paused });
    expect(find({ BMC_HOST: "192.0.2.2" })).not.toHaveProperty("paused");
  });
});
