import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../shared/clock.ts";
import { redfishProfiles } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "../actions/action-run.ts";
import { freePort } from "./free-port.ts";
import { judge, TRIALS, type Verdict } from "./zoo/judge.ts";
import { Recording, type Tree, Trees } from "./zoo/tree.ts";

const TITLE = "the redfish provider reads recorded machines";
const folder = process.env["ZOO_FOLDER"];
const TREE_MS = 300_000;

if (!folder) process.stderr.write(`skipped, ZOO_FOLDER is not set: ${TITLE}\n`);

/** The server of the recordings, which refuses to set properties that a resource lacks. */
async function serve(file: string): Promise<number> {
  const { serve: start } = (await import(pathToFileURL(join(folder ?? "", "serve.mjs")).href)) as {
    serve: (file: string, port: number) => Promise<Server>;
  };
  const port = await freePort();
  const server = await start(file, port);
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  await fetch(`http://127.0.0.1:${port}/__strict?on=1`);
  return port;
}

async function tryAll(file: string, tree: Tree, needsSystem: boolean): Promise<ReadonlyMap<string, Verdict>> {
  const port = await serve(file);
  const env = {
    ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD: "calvin" },
    ...{ BMC_PROVIDERS: "redfish", REDFISH_PORT: String(port), REDFISH_SCHEME: "http" },
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

function expectedTrees(): Readonly<Record<string, Tree>> {
  if (!folder) return {};
  return Trees.parse(JSON.parse(readFileSync(join(folder, "expected.json"), "utf8")));
}

describe.skipIf(!folder)(TITLE, () => {
  const trees = Object.entries(expectedTrees());

  it("of which there are some", () => {
    expect(trees.length).toBeGreaterThan(0);
  });

  it("of whose makers no profile of the simulator offers HTTP boot by a URI that none of them has", () => {
    const offers = new Map<string, boolean>();
    for (const [name] of trees) {
      const file = join(folder ?? "", "trees", `${name}.json.gz`);
      const { vendor, resources } = Recording.parse(
        JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")),
      );
      const hasUri = Object.values(resources).some(
        (resource) => "HttpBootUri" in Object(Object(resource).Boot),
      );
      offers.set(vendor.toLowerCase(), hasUri || (offers.get(vendor.toLowerCase()) ?? false));
    }

    const wrong = Object.values(redfishProfiles).filter(({ manufacturer, bootOrder, httpBootUri }) => {
      const recorded = [...offers].find(([vendor]) => manufacturer.toLowerCase().startsWith(vendor));
      return recorded?.[1] === false && bootOrder !== false && httpBootUri !== false;
    });

    expect(wrong.map(({ name }) => name)).toEqual([]);
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

      const verdicts = [...(await tryAll(file, tree, needsSystem))];

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
