import { readFile, writeFile } from "node:fs/promises";
import { execa } from "execa";
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";
import { refreshCompatibilityPage } from "../../../scripts/compatibility-page.ts";
import { Machines } from "./machines.ts";
import type { Peer } from "./peer.ts";
import { differences, mergeResults, type PeerResult, Results } from "./results.ts";

const FILE = new URL("results.json", import.meta.url);
const MACHINES = new URL("machines.json", import.meta.url);
const PAGE = new URL("../../../docs/reference/compatibility.md", import.meta.url);

/** Writes what the tests have proven into results.json and the page. In CI it compares instead, and fails the run. */
export default class CompatibilityReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    if (!modules.every((module) => module.ok())) return;
    const committed = Results.parse(JSON.parse(await readFile(FILE, "utf8")));
    const merged = mergeResults(committed, await resultsOf(modules), await this.#isWhole(modules));
    const committedMachines = Machines.parse(JSON.parse(await readFile(MACHINES, "utf8")));
    const machines = { ...committedMachines, ...machinesOf(modules) };
    if (process.env["CI"]) {
      return report([...differences(committed, merged), ...machineDifferences(committedMachines, machines)]);
    }
    await writeFile(FILE, `${JSON.stringify(merged, undefined, 2)}\n`);
    await writeFile(MACHINES, `${JSON.stringify(machines, undefined, 2)}\n`);
    await writeFile(PAGE, await refreshCompatibilityPage(await readFile(PAGE, "utf8")));
  }

  async #isWhole(modules: readonly TestModule[]): Promise<boolean> {
    const files = await this.#vitest?.globTestSpecifications();
    return modules.length === files?.length && !this.#vitest?.getGlobalTestNamePattern();
  }
}

function report(lines: readonly string[]): void {
  if (lines.length === 0) return;
  const say = ["docs/reference/compatibility.md is out of date. Fix: npm run test:interop", ...lines];
  process.stderr.write(`${say.join("\n")}\n`);
  process.exitCode = 1;
}

async function resultsOf(modules: readonly TestModule[]): Promise<Results> {
  const results: Record<string, PeerResult> = {};
  for (const test of modules.flatMap((module) => [...module.children.allTests("passed")])) {
    for (const peer of peersOf(test)) {
      results[peer.name] ??= { version: await versionOf(peer) };
      const result = results[peer.name] as PeerResult;
      const { actions } = test.meta();
      if (actions?.server === peer.name) result.actions = actions.outcomes;
    }
  }
  return results;
}

function machinesOf(modules: readonly TestModule[]): Machines {
  const tests = modules.flatMap((module) => [...module.children.allTests("passed")]);
  const found = tests.flatMap((test) => test.meta().machine ?? []);
  return Object.fromEntries(found.map(({ name, ...result }) => [name, result]));
}

function machineDifferences(committed: Machines, found: Machines): readonly string[] {
  const isSame = (name: string) => JSON.stringify(committed[name]) === JSON.stringify(found[name]);
  return Object.keys(found).flatMap((name) =>
    isSame(name) ? [] : [`+ ${name}: ${JSON.stringify(found[name])}`],
  );
}

/** The peers of a test and of its suites. */
function peersOf(test: TestCase): readonly Peer[] {
  const peers = new Map<string, Peer>();
  for (let at: TestCase | TestSuite | TestModule = test; at.type !== "module"; at = at.parent) {
    for (const peer of at.meta().peers ?? []) peers.set(peer.name, peer);
  }
  return [...peers.values()];
}

async function versionOf({ version: [program = "", ...argv] }: Peer): Promise<string> {
  const { all = "" } = await execa(program, argv, { all: true, reject: false, timeout: 20_000 });
  return /\d+\.\d+(\.\d+)*/.exec(all)?.[0] ?? "";
}
