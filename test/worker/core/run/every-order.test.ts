import { expect, test } from "vitest";
import { actionEntries, MemoryJournal } from "../../../../worker/core/action/action-journal.ts";
import {
  isSettled,
  isUnreported,
  type JournalEntry,
  type JournalPhase,
} from "../../../../worker/core/action/entry.ts";
import { STATES, type StateRule } from "../../../../worker/core/action/states.ts";
import { failedAction, nothingToRemove } from "../../../../worker/core/ports/outcome.ts";
import { ActionRun } from "../../../../worker/core/run/action-run.ts";
import { SetClock } from "../../../support/set-clock.ts";
import { scriptedRequest } from "../../runtimes/launch-request.ts";
import { briefRuntime, labServices } from "./executor-lab.ts";

/** An action that is not idempotent, in the steps of `start` and `adopt`. */
type Step =
  | "dead"
  | "idle"
  | "begin"
  | "report running"
  | "create"
  | "record launch"
  | "start"
  | "follow"
  | "adopt"
  | "report end"
  | "record acknowledged"
  | "record dropped"
  | "remove";

interface WorkerNow {
  readonly at: Step;
  /** What it knows, also if the disk did not take it. */
  readonly entry?: JournalEntry | undefined;
  /** It adopts an action that the server has not served to it. */
  readonly isShared?: boolean;
  /** Its lease moved since it was served: also if it has it again, it starts nothing and reports nothing. */
  readonly isDeposed?: boolean;
}

interface Disk {
  readonly entry?: JournalEntry | undefined;
  /** What survives a power loss. */
  readonly synced?: JournalEntry | undefined;
}

interface World {
  readonly container: "none" | "created" | "runs" | "acted" | "ended";
  readonly wasCreated: boolean;
  /** How often the machine carried out the command. */
  readonly commands: number;
  /** Each end that the server took. */
  readonly told: readonly string[];
  readonly isDeleted: boolean;
  readonly workers: readonly WorkerNow[];
  /** One per worker, or one for all. */
  readonly disks: readonly Disk[];
  readonly crashes: number;
  readonly isPowerLost: boolean;
  readonly full: number;
  /** The index of the worker that the server serves, and whose reports are sent; and how often that changed. */
  readonly leader: number;
  readonly moves: number;
  /** A container was removed whose end is neither on record nor told. */
  readonly isEndLost: boolean;
}

type Next = readonly [event: string, world: World | Promise<World>];

const { action } = scriptedRequest([], { action: { image: "localhost/power-cycle:v1" } }).request;
const TIMES = { startedAt: new Date(0), stoppedAt: new Date(0) };
const SUCCESS = nothingToRemove({ ok: true, message: "done", timedOut: false, killed: false, ...TIMES });
const NOT_RUN = failedAction("internal", "it was not run", new Date(0), new Date(0));
const LOST = failedAction("internal", "its end is unknown", new Date(0), new Date(0));

interface Setting {
  /** The worker provides the connection, so that a launched action is held back. */
  readonly connected: boolean;
  /** Two workers at a time share Jobs and have a disk each. Otherwise the second one follows the first, on its disk. */
  readonly replicas: boolean;
  /** So many workers die, so many writes find no room, and so many events happen. */
  readonly most: { readonly crashes: number; readonly full: number; readonly events: number };
}

function beginning({ replicas }: Setting): World {
  const count = replicas ? 2 : 1;
  const each = <T>(value: T) => Array.from({ length: count }, () => value);
  return {
    ...{ container: "none", wasCreated: false, commands: 0, told: [], isDeleted: false, isEndLost: false },
    ...{
      workers: each({ at: "idle" }),
      disks: each({}),
      crashes: 0,
      isPowerLost: false,
      full: 0,
      leader: 0,
      moves: 0,
    },
  };
}

/** Every event that may happen now. */
function eventsOf(world: World, setting: Setting): readonly Next[] {
  const next: Next[] = [];
  if (world.container === "runs")
    next.push(["the machine acts", { ...world, container: "acted", commands: world.commands + 1 }]);
  if (world.container === "acted") next.push(["the action ends", { ...world, container: "ended" }]);
  if (!world.isDeleted && !setting.replicas)
    next.push(["the workflow is deleted", { ...world, isDeleted: true }]);
  if (setting.replicas && world.moves < 2) {
    const moved = { ...world, leader: 1 - world.leader, moves: world.moves + 1 };
    const workers = world.workers.map((one, index) =>
      index === world.leader && one.at !== "idle" && one.at !== "dead" ? { ...one, isDeposed: true } : one,
    );
    next.push(["the lease moves", { ...moved, workers }]);
  }
  for (const index of world.workers.keys()) next.push(...eventsOfWorker(world, setting, index));
  return next;
}

function eventsOfWorker(world: World, setting: Setting, index: number): readonly Next[] {
  const { connected, replicas, most } = setting;
  const { container, told, isDeleted } = world;
  const { at, entry, isShared, isDeposed } = world.workers[index] ?? { at: "dead" };
  const isOurs = world.leader === index && !isDeposed;
  const put = (to: WorkerNow, others: Partial<World> = {}): World => {
    const isOver = to.at === "idle" || to.at === "dead";
    const worker = isDeposed && !isOver ? { ...to, isDeposed } : to;
    return {
      ...world,
      ...others,
      workers: world.workers.map((one, other) => (other === index ? worker : one)),
    };
  };
  const gone = replicas ? {} : { container: "none" as const };
  /** Takes a step of the run, on a disk that has room or is full. */
  const recorded = (
    step: (run: ActionRun) => Promise<unknown>,
    then: (entry: JournalEntry, result: unknown) => readonly [WorkerNow, Partial<World>?],
    otherwise = then,
    from = entry,
  ): readonly Next[] =>
    [false, true].slice(0, world.full < most.full ? 2 : 1).map((isFull): Next => {
      const take = async () => {
        const disk = new OneDisk(world.disks[index] ?? {}, isFull);
        const run = new ActionRun({ ...SERVICES, journal: disk }, action);
        if (from) run.resume(from);
        else run.place(action, { connected });
        let thrown: unknown;
        const result = await step(run).catch((error: unknown) => {
          thrown = error;
        });
        if (thrown !== undefined) await run.forget();
        const [worker, others = {}] = (thrown === undefined ? then : otherwise)(run.entry, result);
        const disks = world.disks.map((one, other) => (other === index ? disk.now : one));
        const full = world.full + (isFull ? 1 : 0);
        return put(worker, { disks, full, ...others });
      };
      return [`${index} ${at}${isFull ? ", disk full" : ""}`, take()];
    });
  const idle: WorkerNow = { at: "idle" };
  const ends = (outcome: typeof SUCCESS) =>
    recorded(
      (run) => run.withhold(outcome),
      (ended) => [{ at: isShared && outcome === LOST ? "idle" : "report end", entry: ended }],
    );
  const forgotten = (others: Partial<World> = {}) =>
    recorded(
      (run) => run.forget(),
      () => [idle, others],
    );
  const steps = (): readonly Next[] => {
    switch (at) {
      case "dead": {
        const found = world.disks[index]?.entry;
        // The sweep removes what is not needed, apart from Jobs.
        const isNeeded = found && !isUnreported(found);
        const others = isNeeded || replicas ? {} : { ...gone, isEndLost: isEndLost(world, found) };
        const restarts = (worker: WorkerNow): Next => [`${index} restarts`, put(worker, others)];
        if (!found || isSettled(found)) return [restarts({ at: "idle", entry: found })];
        if (isUnreported(found)) return [restarts({ at: replicas ? "idle" : "report end", entry: found })];
        return [restarts({ at: "adopt", entry: found, isShared: replicas })];
      }
      case "idle": {
        // A cache may serve it for some time after its end. Then a worker that lost its records with its power, or to another one, cannot know.
        if (isDeleted || !isOurs || (told.length > 0 && (replicas || isForgotten(world)))) return [];
        if (!entry) return [[`${index} is served`, put({ at: "begin" })]];
        if (isUnreported(entry)) return [[`${index} is served again`, put({ at: "report end", entry })]];
        if (!isSettled(entry)) return [[`${index} is served again`, put({ at: "adopt", entry })]];
        return recorded(
          (run) => run.reopen(),
          (ended) => [{ at: "report end", entry: ended }],
        );
      }
      case "begin":
        return recorded(
          (run) => run.begin(),
          (begun) => [{ at: "report running", entry: begun }],
          () => [idle],
        );
      case "report running":
        if (!isOurs) return forgotten();
        // It may have arrived, or the server or a proxy refuses it.
        return [[`${index} RUNNING is acknowledged`, put({ at: "create", entry })], ...forgotten()];
      case "create": {
        if (!isOurs) return forgotten();
        if (container !== "none") return [[`${index} finds it`, put({ at: "record launch", entry })]];
        const held = connected || replicas ? ("created" as const) : ("runs" as const);
        const created = put({ at: "record launch", entry }, { container: held, wasCreated: true });
        return [[`${index} creates it`, created], ...ends(NOT_RUN)];
      }
      case "record launch": {
        const isHeldBack = container === "created";
        const next = (launched: JournalEntry): readonly [WorkerNow] => [
          { at: isHeldBack ? "start" : "follow", entry: launched },
        ];
        const isHere = (run: ActionRun) => run.launched({ id: "c" });
        if (isHeldBack && !isOurs) return forgotten({ container: "none" });
        if (isHeldBack) return recorded(isHere, next, () => [idle, { container: "none" }]);
        // It acts already: the entry before says that it may.
        return recorded((run) => isHere(run).catch(() => undefined), next);
      }
      case "start":
        if (container === "none") return forgotten();
        return [
          [
            `${index} starts it`,
            put({ at: "follow", entry }, container === "created" ? { container: "runs" } : {}),
          ],
        ];
      case "follow":
        if (container === "ended") return ends(SUCCESS);
        return container === "none" ? ends(LOST) : [];
      case "adopt": {
        const isHandled = entry?.phase === "launched";
        if (container === "none") return entry?.connected && !isHandled ? forgotten() : ends(LOST);
        if (container === "created") return forgotten({ container: "none" });
        return [[`${index} adopts it`, put({ at: "follow", entry, ...(isShared && { isShared }) })]];
      }
      case "report end": {
        if (!isOurs) return [[`${index} withholds its end`, put({ at: "idle", entry })]];
        const end = entry && "end" in entry ? entry.end.message : "";
        const arrives = { told: [...new Set([...told, end])] };
        const rejected = recorded(
          (run) => run.rejected("PermissionDenied"),
          (after) => [{ at: isSettled(after) ? "remove" : "report end", entry: after }],
        );
        if (isDeleted)
          return [...rejected, [`${index} end is dropped`, put({ at: "record dropped", entry })]];
        return [
          ...rejected,
          [`${index} end is acknowledged`, put({ at: "record acknowledged", entry }, arrives)],
          [`${index} end arrives, its answer does not`, put({ at: "report end", entry }, arrives)],
        ];
      }
      case "record acknowledged":
      case "record dropped": {
        const delivery = at === "record dropped" ? "dropped" : "acknowledged";
        return recorded(
          (run) => run.settled(delivery),
          (after, isRecorded) => [{ at: isRecorded ? "remove" : at, entry: after }],
        );
      }
      case "remove":
        return [[`${index} removes it`, put({ at: "idle", entry }, gone)]];
      default:
        return at satisfies never;
    }
  };
  const next = [...steps()];
  if (at === "dead" || world.crashes === most.crashes) return next;
  const crashes = world.crashes + 1;
  next.push([`${index} dies`, put({ at: "dead" }, { crashes })]);
  const disk = { entry: world.disks[0]?.synced, synced: world.disks[0]?.synced };
  if (!replicas)
    next.push([
      "the power fails",
      put(
        { at: "dead" },
        {
          crashes,
          isPowerLost: true,
          disks: [disk],
          container: "none",
          isEndLost: isEndLost(world, disk.entry),
        },
      ),
    ]);
  return next;
}

/** Nothing knows any more how an action ended that acted. */
function isEndLost({ container, told, isEndLost: wasLost }: World, entry: JournalEntry | undefined): boolean {
  return wasLost || ((container === "acted" || container === "ended") && told.length === 0 && !entry);
}

class OneDisk extends MemoryJournal {
  now: Disk;
  readonly #isFull: boolean;

  constructor(disk: Disk, isFull: boolean) {
    super();
    this.now = disk;
    this.#isFull = isFull;
  }

  override async write(entry: JournalEntry): Promise<void> {
    if (this.#isFull) throw new Error("ENOSPC");
    this.now = { entry, synced: actionEntries.ruleOf(entry).isSynced ? entry : this.now.synced };
  }

  override async remove(): Promise<void> {
    this.now = {};
  }
}

const CLOCK = new SetClock();
const SERVICES = labServices({ clock: CLOCK, runtime: briefRuntime(), defaultTimeoutMs: 1 });

/** Which promise a world breaks. */
function brokenIn(world: World, { connected }: Setting): string | undefined {
  const { commands, wasCreated, isDeleted, disks, workers } = world;
  if (commands > 1) return "the command was carried out twice";
  const known = [...disks, ...workers].flatMap(({ entry }) => entry ?? []);
  const ends = [...world.told, ...known.flatMap((entry) => ("end" in entry ? [entry.end.message] : []))];
  if (ends.includes("done") && commands === 0) return "success is not verified";
  if (world.told.some(isOf("not run")) && commands > 0) return "it is told as not run, and ran";
  // One without a connection acts as soon as it exists: in doubt, it counts as launched.
  if (ends.some(isOf("unknown")) && connected && !wasCreated)
    return "it ends as lost, and was never launched";
  const told = world.told.filter((end) => !isForgotten(world) || !isOf("unknown")(end));
  if (told.length > 1) return `two ends are told: ${told.join(", ")}`;
  const has = (phase: JournalPhase) => known.some((entry) => entry.phase === phase);
  if (has("acknowledged") && world.told.length === 0) return "an end counts as told that was not";
  if (has("dropped") && !isDeleted) return "an end counts as dropped that is awaited";
  return world.isEndLost ? "the end of what ran is lost" : undefined;
}

/**
 * An end that a full disk did not take is known to the server alone: of an action that was not launched if the worker dies, and of
 * another one if its container is lost as well.
 */
const isForgotten = ({ full, crashes, isPowerLost, told }: World) =>
  full > 0 && (isPowerLost || (crashes > 0 && told.some(isOf("not run"))));

const isOf = (words: string) => (end: string) => end.includes(words);

/** Explores every order of events. Resolves to the first one that breaks a promise, and to the number of different states. */
async function explore(
  setting: Setting,
): Promise<{ readonly broken: string | undefined; readonly states: number }> {
  const first = beginning(setting);
  const seen = new Set([JSON.stringify(first)]);
  let level: readonly { readonly world: World; readonly path: readonly string[] }[] = [
    { world: first, path: [] },
  ];
  for (let depth = 0; depth < setting.most.events && level.length > 0; depth += 1) {
    const deeper: { readonly world: World; readonly path: readonly string[] }[] = [];
    for (const { world, path } of level) {
      for (const [event, made] of eventsOf(world, setting)) {
        const next = made instanceof Promise ? await made : made;
        const key = JSON.stringify(next);
        if (seen.has(key)) continue;
        seen.add(key);
        const problem = brokenIn(next, setting);
        if (problem !== undefined)
          return { broken: `${problem}: ${[...path, event].join(", ")}`, states: seen.size };
        deeper.push({ world: next, path: [...path, event] });
      }
    }
    level = deeper;
  }
  return { broken: undefined, states: seen.size };
}

const LONG = { crashes: 2, full: 2, events: 24 };
const ALONE = { connected: true, replicas: false, most: LONG };
const UNCONNECTED = { connected: false, replicas: false, most: LONG };

test.each([
  ["one worker after another", ALONE],
  ["one worker after another, an action without their connection", UNCONNECTED],
  ["two replicas", { connected: true, replicas: true, most: { crashes: 1, full: 1, events: 13 } }],
] as const)(
  "in every order of events, one action runs at most once, and the server is told only what happened: %s",
  async (_, setting) => {
    const { broken, states } = await explore(setting);

    expect(broken).toBeUndefined();
    expect(states).toBeGreaterThan(10_000);
  },
);

/** A rule of the table, changed for the length of a test. */
async function exploreWith(
  state: JournalPhase,
  change: Partial<StateRule>,
  setting: Setting,
): Promise<string | undefined> {
  const rule = STATES[state];
  const before = { ...rule };
  try {
    Object.assign(rule, { ...change, on: { ...rule.on, ...change.on } });
    return (await explore(setting)).broken;
  } finally {
    Object.assign(rule, before);
  }
}

test.each<[string, JournalPhase, Partial<StateRule>, Setting]>([
  ["a start that is not on record is launched", "launching", { unwritten: "continue" }, UNCONNECTED],
  ["a start does not survive a power loss", "launching", { synced: false }, UNCONNECTED],
  ["a launch is not recorded", "launching", { on: { launch: "gone" } }, ALONE],
  ["an action acts whose launch is not on record", "launched", { unwritten: "continue" }, ALONE],
  ["a launch does not survive a power loss", "launched", { synced: false }, ALONE],
  ["an end does not survive a power loss", "ended", { synced: false }, ALONE],
  ["a rejected report counts as told", "ended", { on: { reject: "acknowledged" } }, ALONE],
  ["a rejected report counts as dropped", "ended", { on: { reject: "dropped" } }, ALONE],
  ["a container is removed before that is on record", "acknowledged", { unwritten: "continue" }, ALONE],
])("a promise is broken if %s", async (_, state, change, setting) => {
  expect(await exploreWith(state, change, setting)).toBeDefined();
});
