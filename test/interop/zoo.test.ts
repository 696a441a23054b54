import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../shared/clock.ts";
import { startRecording } from "../../simulators/recorded/start-recording.ts";
import { redfishProfiles } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "../actions/action-run.ts";
import { judge, TRIALS, type Verdict } from "./zoo/judge.ts";
import { candidates, lastResetTime, Recording, screenshotTarget, type Tree, Trees } from "./zoo/tree.ts";

const TITLE = "the redfish provider reads recorded machines";
const folder = process.env["ZOO_FOLDER"];
const TREE_MS = 300_000;

if (!folder) process.stderr.write(`skipped, ZOO_FOLDER is not set: ${TITLE}\n`);

/** The recorded machine, as the lab runs it. */
async function serve(file: string): Promise<number> {
  const running = await startRecording(file, { tls: "http", username: "admin", password: "calvin" });
  onTestFinished(() => running.close());
  return running.redfish.port;
}

const connectionTo = (port: number) => ({
  ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD: "calvin" },
  ...{ BMC_PROVIDERS: "redfish", REDFISH_PORT: String(port), REDFISH_SCHEME: "http" },
});

async function tryAll(port: number, tree: Tree, needsSystem: boolean): Promise<ReadonlyMap<string, Verdict>> {
  const env = {
    ...connectionTo(port),
    ...(tree.system && needsSystem ? { REDFISH_SYSTEM: tree.system } : {}),
  };
  const verdicts = new Map<string, Verdict>();
  for (const trial of TRIALS) {
    const result = resultOf(
      await runAction(trial.action, { env: { ...env, ...trial.env }, clock: systemClock }),
    );
    verdicts.set(trial.action, judge(trial, result, tree));
  }
  return verdicts;
}

/** Without a name of a system: the only one that can be meant is found, more are refused in one line that names them. */
async function expectChoice(port: number, recording: Recording, tree: Tree): Promise<void> {
  const ended = await runAction("power-status", { env: connectionTo(port), clock: systemClock });
  const result = resultOf(ended);

  const [only, ...more] = candidates(recording, tree);
  if (only === undefined) {
    expect(result).toMatchObject({ ok: false, class: "unsupported" });
  } else if (more.length > 0) {
    expect(result).toMatchObject({ ok: false, class: "usage" });
    expect(result.message?.split("\n")).toEqual([expect.stringContaining(tree.systems.join(", "))]);
  } else {
    expect(result).toMatchObject({ ok: true });
    expect(only).toBe(tree.system);
    const others = tree.systems.filter((path) => path !== only);
    for (const path of tree.systems) if (others.length > 0) expect(ended.stderr).toContain(path);
  }
}

function expectedTrees(): Readonly<Record<string, Tree>> {
  if (!folder) return {};
  return Trees.parse(JSON.parse(readFileSync(join(folder, "expected.json"), "utf8")));
}

describe.skipIf(!folder)(TITLE, () => {
  const trees = Object.entries(expectedTrees());

  it("of which there are some", () => {
    expect(trees.length).toBeGreaterThan(0);
  });

  it("of whose makers the profiles of the simulator offer only what one of them offers", () => {
    const recorded = new Map<string, Set<string>>();
    for (const [name, tree] of trees) {
      const file = join(folder ?? "", "trees", `${name}.json.gz`);
      const { vendor, resources } = Recording.parse(
        JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")),
      );
      const hasUri = Object.values(resources).some(
        (resource) => "HttpBootUri" in Object(Object(resource).Boot),
      );
      const offers = recorded.get(vendor.toLowerCase()) ?? new Set();
      recorded.set(vendor.toLowerCase(), offers);
      for (const type of tree.resetTypes ?? []) offers.add(`reset ${type}`);
      for (const target of tree.bootTargets ?? []) offers.add(`boot ${target}`);
      if (hasUri) offers.add("HttpBootUri");
    }

    const wrong = Object.values(redfishProfiles).flatMap((profile) => {
      const maker = profile.manufacturer.toLowerCase();
      const offers = [...recorded].find(([vendor]) => maker.startsWith(vendor))?.[1];
      const claims = [
        ...profile.resetTypes.map((type) => `reset ${type}`),
        ...profile.bootTargets.map((target) => `boot ${target}`),
        ...(profile.bootOrder !== false && profile.httpBootUri !== false ? ["HttpBootUri"] : []),
      ];
      return offers ? claims.filter((claim) => !offers.has(claim)).map((it) => `${profile.name}: ${it}`) : [];
    });

    expect(wrong).toEqual([]);
  });

  it.for(trees)(
    "%s: what the recording holds, and what it lacks",
    { timeout: TREE_MS },
    async ([name, tree], { task }) => {
      const file = join(folder ?? "", "trees", `${name}.json.gz`);
      expect(existsSync(file), file).toBe(true);
      const recording = Recording.parse(JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")));
      // Several machines share a BMC, or the recording has no list of systems.
      const needsSystem = tree.systems.length > 1 || recording.resources["/redfish/v1/Systems"] === undefined;

      const port = await serve(file);
      const known = {
        ...tree,
        screenshotTarget: screenshotTarget(recording),
        lastResetTime: lastResetTime(recording, tree),
      };

      // Where the recording lacks the list, the lab makes one of the systems that it has.
      const isListed = recording.resources["/redfish/v1/Systems"] !== undefined;
      if (isListed || tree.systems.length > 0) await expectChoice(port, recording, tree);
      const verdicts = [...(await tryAll(port, known, needsSystem))];

      const reasons = (kind: "lacks" | "wrong") =>
        verdicts.flatMap(([action, verdict]) => (verdict.kind === kind ? [[action, verdict.reason]] : []));
      expect(reasons("wrong")).toEqual([]);
      task.meta.machine = {
        name,
        machine: `${recording.vendor} ${recording.model}`,
        firmware: recording.bmcFirmware ?? "",
        right: verdicts.flatMap(([action, { kind }]) => (kind === "right" ? [action] : [])),
        lacks: Object.fromEntries(reasons("lacks")),
      };
    },
  );
});
