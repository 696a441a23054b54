import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { BmcReading } from "../../shared/bmc/recording/record-bmc.ts";
import { systemClock } from "../../shared/clock.ts";
import { Anonymiser } from "../../shared/recording/anonymise.ts";
import { redactor } from "../../shared/secret-forms.ts";
import { shownBy } from "../../simulators/recorded/profile.ts";
import { RecordedResources } from "../../simulators/recorded/resources.ts";
import { startRecording } from "../../simulators/recorded/start-recording.ts";
import { redfishProfile, redfishProfiles } from "../../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "../actions/action-run.ts";
import { differences } from "../simulators/recorded/profile-differences.ts";
import { quickClock } from "../support/quick-actions.ts";
import { judge, TRIALS, type Verdict } from "./zoo/judge.ts";
import { differenceButNames } from "./zoo/renaming.ts";
import {
  candidates,
  lastResetTime,
  type RecordedDrive,
  Recording,
  recordedBootOrder,
  recordedDrives,
  screenshotTarget,
  type Tree,
  Trees,
} from "./zoo/tree.ts";

const TITLE = "the redfish provider reads recorded machines";
const folder = process.env["ZOO_FOLDER"];
const TREE_MS = 300_000;
const MediaList = z.object({ drives: z.array(z.object({ name: z.string() })) });
type Environment = Readonly<Record<string, string>>;

const X11 = "of X11 boards, which no tree has";
const QUANTA = "of boards by Quanta, which no tree has";
const AS_SEEN = { etagSent: "trees have no headers" };

/** The recorded machine that each profile of its maker follows, and in which fields it does not, with the reason. */
const FOLLOWED: Readonly<
  Record<string, { readonly machine: string; readonly except?: Readonly<Record<string, string>> }>
> = {
  "dell-idrac9": { machine: "dell-r750-idrac9-6.00" },
  "dell-idrac10": {
    machine: "dell-r750-dpu-idrac9-7.10",
    except: { bootOwner: "of iDRAC10, which no tree has" },
  },
  "dell-13g": {
    machine: "dell-smd-partial",
    except: { oem: "left out of this tree", "bios.offered": "of later firmware than this tree's" },
  },
  "hpe-ilo5": { machine: "hpe-dl385-gen10plusv2-ilo5" },
  "hpe-no-identity": { machine: "hpe-dl385-gen10plusv2-ilo5" },
  supermicro: {
    machine: "supermicro-sys-821ge-tnhr",
    except: { "media.name": X11, "media.slots": X11, "media.showsInserted": X11 },
  },
  "supermicro-reverting": { machine: "supermicro-sys-821ge-tnhr" },
  ami: { machine: "gigabyte-h262-z63-megarac", except: AS_SEEN },
  "ami-future-state": {
    machine: "gigabyte-h262-z63-megarac",
    except: { ...AS_SEEN, oem: QUANTA, ntp: QUANTA, bootOwner: QUANTA },
  },
  "lenovo-xcc": { machine: "lenovo-sr670v2-xcc-2.83" },
  "lenovo-sr655": { machine: "lenovo-sr670v2-xcc-2.83", except: AS_SEEN },
  openbmc: { machine: "openbmc-stock-2.15", except: { certificates: "no tree shows which types are taken" } },
};

if (!folder) process.stderr.write(`skipped, ZOO_FOLDER is not set: ${TITLE}\n`);

/** The recorded machine, as the lab runs it. */
async function serve(source: Parameters<typeof startRecording>[0], username = "admin"): Promise<number> {
  const running = await startRecording(source, { tls: "http", username, password: "calvin" });
  onTestFinished(() => running.close());
  return running.redfish.port;
}

const connectionTo = (port: number, username = "admin") => ({
  ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: username, BMC_PASSWORD: "calvin" },
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

const SHARE = { MEDIA_USERNAME: "LAB\\images", MEDIA_PASSWORD: "canary-images" };

function readRecording(name: string): Recording {
  const file = join(folder ?? "", "trees", `${name}.json.gz`);
  return Recording.parse(JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")));
}

/** The last drive by its name, so that the one that a BMC offers first is left alone. */
async function tryDrive(env: Environment, { Id: name, MediaTypes: types }: RecordedDrive): Promise<void> {
  const isStick = types.includes("USBStick");
  const run = async (action: string, more: Environment) => {
    const ended = await runAction(action, { env: { ...env, MEDIA_DRIVE: name, ...more }, clock: quickClock });
    expect(ended.stdout + ended.stderr).not.toContain("canary");
    return resultOf(ended);
  };
  const inserted = await run("insert-virtual-media", {
    MEDIA_URL: `//images.example/share/x.${isStick ? "img" : "iso"}`,
    ...SHARE,
  });
  // Older firmware of a drive without actions has no place for credentials.
  if (!inserted.ok) expect(inserted.message).toMatch(/takes no credentials/);
  else expect(inserted).toMatchObject({ after: { inserted: true, drive: name } });
  const ejected = await run("eject-virtual-media", {});
  expect(ejected).toMatchObject({ ok: true, after: { inserted: false, drive: name } });
}

const CHANGES = /^(set-|power-o)/;

/** What `pbnj-worker record` would write of the machine, and what it makes of a path. */
function anonymised({ resources }: Recording) {
  const reading = new BmcReading();
  reading.tree = {
    ...{ resources: new Map(Object.entries(resources)), refusals: new Map(), times: new Map(), unread: [] },
    ...{ etag: undefined, clockSkewMs: undefined, requests: 0, bytes: 0 },
  };
  const anonymiser = new Anonymiser(redactor({}));
  const shown = reading.anonymous(anonymiser, { username: "admin", host: "bmc.invalid" });
  return { shown, path: (path: string) => anonymiser.path(path) };
}

/** A result without times, and without sentences, which have several names. */
function sayings(result: unknown): unknown {
  if (Array.isArray(result)) return result.map(sayings);
  if (typeof result !== "object" || result === null) return result;
  const own = Object.entries(result).filter(([name]) => !TIMED.test(name));
  return Object.fromEntries(own.map(([name, value]) => [name, sayings(value)]));
}

const TIMED = /^(durationMs|attempts|message|detail|details|clock|wouldSend)$/;

function expectedTrees(): Readonly<Record<string, Tree>> {
  if (!folder) return {};
  return Trees.parse(JSON.parse(readFileSync(join(folder, "expected.json"), "utf8")));
}

describe.skipIf(!folder)(TITLE, () => {
  const trees = Object.entries(expectedTrees());

  it("of which there are some", () => {
    expect(trees.length).toBeGreaterThan(0);
  });

  it("of whose makers each profile of the simulator follows one", () => {
    const vendors = new Set(trees.map(([name]) => readRecording(name).vendor.toLowerCase()));
    const ofMakers = Object.values(redfishProfiles).filter(({ manufacturer }) =>
      [...vendors].some((vendor) => manufacturer.toLowerCase().startsWith(vendor)),
    );

    expect(ofMakers.map(({ name }) => name).filter((name) => !(name in FOLLOWED))).toEqual([]);
  });

  it.for(Object.entries(FOLLOWED))("as which the profile %s shows itself", ([name, { machine, except }]) => {
    const resources = new RecordedResources(readRecording(machine).resources);
    const profile = redfishProfile(name);

    const found = differences(profile, shownBy(resources));

    expect(Object.keys(found).toSorted(), JSON.stringify(found)).toEqual(
      Object.keys(except ?? {}).toSorted(),
    );
    const attributes = resources
      .ofType("Bios")
      .flatMap(([, bios]) => Object.keys(Object(bios["Attributes"])));
    const claimed = Object.keys(profile.bios.attributes ?? {});
    expect(claimed.filter((attribute) => !attributes.includes(attribute))).toEqual([]);
  });

  it.for(trees)("%s: its virtual drives by their names", { timeout: TREE_MS }, async ([name, tree]) => {
    const drives = recordedDrives(readRecording(name));
    const port = await serve(join(folder ?? "", "trees", `${name}.json.gz`));
    const env = { ...connectionTo(port), ...(tree.system ? { REDFISH_SYSTEM: tree.system } : {}) };

    const listed = resultOf(await runAction("list-virtual-media", { env, clock: systemClock }));

    if (drives.length === 0) {
      expect(listed).toMatchObject({ ok: false, class: "unsupported" });
      return;
    }
    expect(listed).toMatchObject({ ok: true });
    const { drives: found } = MediaList.parse(listed.data);
    expect(found.map((drive) => drive.name).toSorted()).toEqual(drives.map(({ Id }) => Id).toSorted());
    const last = drives.find(({ Id }) => Id === found.at(-1)?.name);
    if (last) await tryDrive(env, last);
  });

  it.for(trees.filter(([name, tree]) => recordedBootOrder(readRecording(name), tree).length > 1))(
    "%s: its boot order, the last option first",
    { timeout: TREE_MS },
    async ([name, tree]) => {
      const order = recordedBootOrder(readRecording(name), tree);
      const port = await serve(join(folder ?? "", "trees", `${name}.json.gz`));
      const env = { ...connectionTo(port), ...(tree.system ? { REDFISH_SYSTEM: tree.system } : {}) };
      const last = order.at(-1) ?? "";

      const ended = await runAction("set-boot-order", {
        env: { ...env, BOOT_ORDER: last },
        clock: quickClock,
      });

      expect(resultOf(ended)).toMatchObject({ ok: true, changed: true });
      const { after } = z.object({ after: z.array(z.object({ id: z.string() })) }).parse(resultOf(ended));
      // Another order may wait for the next boot.
      expect(after[0]?.id).toBe(last);
      expect(after.map(({ id }) => id).toSorted()).toEqual(order.toSorted());
    },
  );

  it.for(trees)(
    "%s: the same from its own anonymised recording, but for names",
    { timeout: 2 * TREE_MS },
    async ([name, tree]) => {
      const recording = readRecording(name);
      const { shown, path } = anonymised(recording);
      const needsSystem = tree.systems.length > 1 || recording.resources["/redfish/v1/Systems"] === undefined;
      const system = needsSystem ? tree.system : undefined;
      const [original, renamed] = await Promise.all([serve(recording), serve(shown, shown.login)]);
      const run = async (
        trial: (typeof TRIALS)[number],
        port: number,
        named: string | undefined,
        login?: string,
      ) => {
        const env = {
          ...connectionTo(port, login),
          ...(named ? { REDFISH_SYSTEM: named } : {}),
          ...trial.env,
        };
        return sayings(resultOf(await runAction(trial.action, { env, clock: systemClock })));
      };

      for (const trial of TRIALS.filter(({ action }) => !CHANGES.test(action))) {
        const expected = await run(trial, original, system ?? undefined);
        const found = await run(trial, renamed, system ? path(system) : undefined, shown.login);

        expect(differenceButNames(expected, found), trial.action).toBeUndefined();
      }
    },
  );

  it.for(trees)(
    "%s: what the recording holds, and what it lacks",
    { timeout: TREE_MS },
    async ([name, tree], { task }) => {
      const file = join(folder ?? "", "trees", `${name}.json.gz`);
      expect(existsSync(file), file).toBe(true);
      const recording = readRecording(name);
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
