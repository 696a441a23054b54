import { describe, expect, test } from "vitest";
import type { SimulatedMachineOptions } from "../../../simulators/machine.ts";
import type { Workflow } from "../../../simulators/tink/workflow.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { messageOf, openLab, type Step } from "../../support/lab.ts";

const CANARY = "canary-7c2d1";
const IMAGES = "registry.example/pbnj-worker";

const TENANTS = [
  { namespaces: ["team-a"], machines: ["node-a"], images: [`${IMAGES}/power-*`] },
  { namespaces: ["team-b"], machines: ["node-b", "node-bb"], images: [`${IMAGES}/power-*`] },
];

/** Two machines behind BMCs with one password, and a worker that serves two teams. */
async function rack(machine: SimulatedMachineOptions = { power: "off" }) {
  const policyOf = (tenants: readonly object[]) => ({ images: [`${IMAGES}/*`], tenants });
  const lab = await openLab({
    machines: { "node-a": machine, "node-b": machine },
    password: CANARY,
    policy: policyOf(TENANTS),
    argv: ["--agent-id", "any"],
  });
  return {
    ...lab,
    program: lab.own(new CommandInProcess(lab.argv())),
    setTenants: (tenants: readonly object[]) => lab.writePolicy(policyOf(tenants)),
    a: lab.machine("node-a"),
    b: lab.machine("node-b"),
    requests: () => lab.bmcs.flatMap(({ log }) => log),
    /** Submits a workflow of one action, waits for its end, and makes room for the next one. */
    async run(namespace: string, worker: string, step: Step): Promise<Workflow> {
      const workflow = lab.submitAs({ namespace }, worker, step);
      await lab.untilOver(workflow);
      lab.server.board.delete(workflow);
      return workflow;
    },
  };
}

const powerOn: Step = { name: "power-on" };

describe("two tenants of one rack", () => {
  test("each use their own machine, without a password of their own", async () => {
    await using lab = await rack();

    const own = [
      await lab.run("team-a", "pbnj-node-a", powerOn),
      await lab.run("team-b", "any", {
        ...powerOn,
        environment: { MACHINE: "node-b" },
      }),
    ];

    expect(own.map(({ state }) => state)).toEqual(["SUCCESS", "SUCCESS"]);
    expect([lab.a.power, lab.b.power]).toEqual(["on", "on"]);
  });

  test("fail at the other's machine with the rule's name, whichever way they ask for it", async () => {
    await using lab = await rack();
    const refused = (machine: string) =>
      `power-on failed (usage): policy tenants: namespace team-b may not use machine ${machine}`;

    const byAgentId = await lab.run("team-b", "pbnj-node-a", powerOn);
    const byName = await lab.run("team-b", "any", { ...powerOn, environment: { MACHINE: "node-a" } });
    const absent = await lab.run("team-b", "any", { ...powerOn, environment: { MACHINE: "node-c" } });
    const misspelt = await lab.run("team-b", "any", { ...powerOn, environment: { MACHINE: "node-bb" } });

    expect([byAgentId, byName, absent].map(messageOf)).toEqual([
      refused("node-a"),
      refused("node-a"),
      refused("node-c"),
    ]);
    expect(messageOf(misspelt)).toBe(
      "power-on failed (usage): MACHINE is node-bb, which the inventory does not have, did you mean node-b?",
    );
    expect(lab.requests()).toEqual([]);
    expect(lab.program.stderr + JSON.stringify(lab.server.reports)).not.toContain(CANARY);
  });

  test("who lost a machine while an action waited for it cannot use it", async () => {
    await using lab = await rack({ power: "on", softOffMs: "never" });
    const off = { name: "power-off", environment: { MODE: "soft" } };
    const on = { name: "power-on", environment: { MACHINE: "node-a" } };
    const first = lab.submitAs({ namespace: "team-a" }, "pbnj-node-a", off);
    await lab.program.untilLogged("action started");
    const second = lab.submitAs({ namespace: "team-a" }, "any", on);
    await lab.server.until(() => second.current !== undefined);

    await lab.setTenants([{ namespaces: ["team-b"], machines: ["*"] }]);
    await lab.program.untilLogged("policy reloaded");
    lab.a.do("off");
    await lab.server.until(() => first.state === "SUCCESS" && second.state === "FAILED");

    expect(messageOf(second)).toContain("policy tenants: namespace team-a does not belong to a tenant");
    expect(lab.a.count("on")).toBe(0);
  });
});
