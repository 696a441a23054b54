import { expect, test } from "vitest";
import { dice } from "../support/dice.ts";
import { planFaults } from "./fault-plan.ts";

const MINUTES = 60_000;
const targets = {
  mortal: ["a"],
  workers: ["a", "b"],
  withDisk: ["b"],
  machines: ["node-1", "node-2"],
};

test("the same seed makes the same plan, another one another", () => {
  const plan = (seed: number) => planFaults(dice(seed), 5 * MINUTES, targets);

  expect(plan(1)).toEqual(plan(1));
  expect(plan(1)).not.toEqual(plan(2));
});

test("a long plan has faults of every kind, all of which begin in its time", () => {
  const plan = planFaults(dice(3), 60 * MINUTES, targets);

  expect([...new Set(plan.map(({ kind }) => kind))].toSorted()).toEqual([
    "BMC fault",
    "acknowledgements lost",
    "calls held",
    "calls refused",
    "clock jumps",
    "connections cut",
    "disk full",
    "inventory broken",
    "machine changed",
    "machine taken out",
    "server down",
    "worker frozen",
    "worker killed",
    "worker stopped",
  ]);
  expect(plan.filter(({ atMs }) => atMs < 0 || atMs >= 60 * MINUTES + 10_000)).toEqual([]);
  expect(plan.length).toBeGreaterThan(60 * 30);
});

test("kills only workers that may be, and fills only disks that are there", () => {
  const plan = planFaults(dice(4), 30 * MINUTES, targets);
  const killed = plan.flatMap((fault) =>
    fault.kind === "worker killed" || fault.kind === "worker stopped" ? fault.worker : [],
  );
  const filled = plan.flatMap((fault) => (fault.kind === "disk full" ? fault.worker : []));

  expect([...new Set(killed)]).toEqual(["a"]);
  expect([...new Set(filled)]).toEqual(["b"]);
});

test("plans nothing for targets that are not there", () => {
  const plan = planFaults(dice(5), 30 * MINUTES, { ...targets, mortal: [], withDisk: [] });

  expect(plan.filter(({ kind }) => ["worker killed", "worker stopped", "disk full"].includes(kind))).toEqual(
    [],
  );
  expect(plan.length).toBeGreaterThan(0);
});
