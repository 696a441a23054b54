import { expect, test } from "vitest";
import { dice } from "../support/dice.ts";
import { planFaults } from "./fault-plan.ts";

const MINUTES = 60_000;
const targets = {
  mortal: ["a"],
  workers: ["a", "b"],
  withDisk: ["a", "b"],
  withNames: ["b"],
  inContainers: ["b"],
  hasEngine: true,
  replicas: ["c", "d"],
  withProcesses: ["b"],
  machines: ["node-1", "node-2"],
  withCertificate: ["node-2"],
};

test("the same seed makes the same plan, another one another", () => {
  const plan = (seed: number) => planFaults(dice(seed), 5 * MINUTES, targets);

  expect(plan(1)).toEqual(plan(1));
  expect(plan(1)).not.toEqual(plan(2));
});

test("a long plan has faults of every kind, all of which begin in its time", () => {
  const plan = planFaults(dice(3), 60 * MINUTES, targets);

  expect([...new Set(plan.map(({ kind }) => kind))].toSorted()).toEqual([
    "API answers lost",
    "API calls refused",
    "API server unreachable",
    "BMC fault",
    "acknowledgements lost",
    "action killed",
    "calls held",
    "calls refused",
    "certificate changed",
    "clock jumps",
    "connections cut",
    "disk full",
    "disk read-only",
    "engine restarted",
    "inventory broken",
    "machine changed",
    "machine taken out",
    "names unresolved",
    "output flood",
    "second worker",
    "server down",
    "server restored",
    "watches broken",
    "worker frozen",
    "worker killed",
    "worker stopped",
  ]);
  expect(plan.filter(({ atMs }) => atMs < 0 || atMs >= 60 * MINUTES + 10_000)).toEqual([]);
  expect(plan.length).toBeGreaterThan(60 * 30);
});

test("each fault hits only what it can hit", () => {
  const plan = planFaults(dice(4), 60 * MINUTES, targets);
  const hit = (kind: string) => [
    ...new Set(plan.flatMap((fault) => (fault.kind === kind && "worker" in fault ? fault.worker : []))),
  ];

  expect(["worker killed", "worker stopped", "disk read-only"].flatMap(hit)).toEqual(["a", "a", "a"]);
  expect(["names unresolved", "action killed"].flatMap(hit)).toEqual(["b", "b"]);
  expect(hit("disk full").toSorted()).toEqual(["a", "b"]);
});
