import { describe, expect, onTestFinished, test } from "vitest";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import type { DesiredState } from "../../../../shared/contract/desired-state.ts";
import type { ErrorClass } from "../../../../shared/contract/error-class.ts";
import type { Action, Outcome } from "../../../../worker/core/action/action.ts";
import { type ActionEvent, seenAction } from "../../../../worker/core/action/observer.ts";
import { DriftWatch } from "../../../../worker/features/drift/drift-watch.ts";
import { Enforcer } from "../../../../worker/features/drift/enforcer.ts";
import type { Difference } from "../../../../worker/features/shared/drift-seen.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const QUIET = 30 * MINUTE;
const ENFORCED: DesiredState = { power: "on", enforce: true };

interface LabOptions {
  readonly machines?: readonly string[];
  readonly desired?: DesiredState;
  /** What an action leads to: true is a success that turns the machine on. */
  readonly outcome?: (action: Action) => true | ErrorClass;
  /** Whether a machine that was turned on stays on. */
  readonly stays?: boolean;
  /** How long an action waits for its turn. */
  readonly waitMs?: number;
}

/** Machines that are off, and a lane that runs corrections. */
function lab({
  machines = ["node-1"],
  desired = ENFORCED,
  outcome = () => true,
  stays = true,
  waitMs = 0,
}: LabOptions = {}) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const entries = new Map(machines.map((name) => [name, desired]));
  const ours = new Set(machines);
  const busy = new Set<string>();
  const out = new Set<string>();
  const off = new Set(machines);
  const started: { machine: string; name: string; atMs: number }[] = [];
  const environments: Readonly<Record<string, string>>[] = [];
  const rejected: string[] = [];
  const notices: string[] = [];
  const logged: string[] = [];
  let failure: BmcError | undefined;
  const take = (_: unknown, message: string) => void logged.push(message);
  const notify: ConstructorParameters<typeof Enforcer>[0]["notify"] = ({ machine, type, reason, message }) =>
    void notices.push(`${machine} ${type} ${reason}: ${message}`);
  const log = { info: take, warn: take, error: take, debug: () => undefined };
  const enforcer = new Enforcer({
    ...{
      image: "registry.example/{action}:v{version}",
      version: "1.2.3",
      quietMs: QUIET,
      clock,
      log,
      notify,
    },
    isPaused: (machine) => out.has(machine),
    hasWorkflow: (machine) => busy.has(machine),
    namespaceOf: () => undefined,
  });
  const firmware = { actual: "1.9", ids: ["BIOS.Setup.1", "BIOS.Setup.2"] };
  const differences = (machine: string): readonly Difference[] => [
    {
      ...{ setting: "power", field: "power", wanted: "on", actual: off.has(machine) ? "off" : "on" },
      state: off.has(machine) ? "different" : "same",
    },
    {
      ...{ setting: "firmware", field: "firmware.BIOS", wanted: "2.0", ...firmware },
      state: firmware.actual === "2.0" || !entries.get(machine)?.firmware ? "same" : "different",
    },
  ];
  const watch = new DriftWatch({
    compare: async (machine) => ({ differences: differences(machine), ...(failure && { error: failure }) }),
    inventory: {
      machines: () => [...entries.keys()].map((name) => ({ name, lockKey: name })),
      desiredState: (name) => entries.get(name),
    },
    isOurs: (machine) => ours.has(machine),
    intervalMs: HOUR,
    random: () => 0,
    onCompared: () => undefined,
    ...{ notify, enforcer, clock, log },
  });
  const see = (event: ActionEvent) => watch.observer.action?.(event);
  const { queue } = enforcer;

  /** Executes an action, with the events that executor and launcher emit. */
  async function execute(action: Action): Promise<void> {
    const machine = action.environment["MACHINE"] ?? "";
    const seen = seenAction(action);
    const at = new Date(clock.now());
    see({ kind: "taken", action: seen, machine, at });
    const unwanted = queue.cancelOf(action);
    if (waitMs > 0) await clock.sleep(waitMs, unwanted).catch(() => undefined);
    const status = { action, state: "running", startedAt: at, message: "running" } as const;
    const answer = unwanted?.aborted ? undefined : await queue.report(status, stop.signal);
    if (answer?.kind === "rejected") rejected.push(answer.reason);
    if (answer?.kind !== "acknowledged") return void see({ kind: "returned", action: seen, at });
    started.push({ machine, name: action.name, atMs: clock.monotonicMs() });
    environments.push(action.environment);
    const about = { runtime: "test", machine, startedAt: at, timeoutMs: 0, adopted: false };
    see({ kind: "started", action: seen, ...about });
    await clock.sleep(1_000);
    const ended = outcome(action);
    if (ended === true && stays) off.delete(machine);
    const facts = { action: action.name, ok: true, message: "on", durationMs: 1, roundTrips: 1 };
    const before = firmware.ids.map((id) => ({ id }));
    const result = { ...facts, before, data: { pending: true } };
    const isStaged = ended === true && action.name === "update-firmware";
    const concluded = { ...outcomeOf(ended), ...(isStaged && { result }) };
    see({ kind: "ended", action: seen, machine, runtime: "test", outcome: concluded });
  }
  async function lane(): Promise<void> {
    const inFlight = new Set<string>();
    while (!stop.signal.aborted) {
      await queue.held.wait("drift", stop.signal);
      const poll = await queue.held.next("drift", stop.signal, inFlight).catch(() => undefined);
      if (poll?.kind !== "action") continue;
      inFlight.add(poll.action.workflowId);
      void execute(poll.action).finally(() => inFlight.delete(poll.action.workflowId));
    }
  }
  const running = [watch.run(stop.signal), lane()];
  onTestFinished(async () => {
    stop.abort();
    await Promise.all(running);
  });
  const pass = async (ms: number) => {
    const endMs = clock.monotonicMs() + ms;
    void clock.sleep(ms);
    await clock.until(() => clock.monotonicMs() >= endMs, ms);
  };
  /** An action of a workflow that takes a minute. */
  const used = async (machine = "node-1") => {
    const at = new Date(clock.now());
    see({ kind: "taken", action: OTHER, machine, at });
    await pass(MINUTE);
    see({ kind: "ended", action: OTHER, machine, runtime: "test", outcome: outcomeOf(true) });
  };
  const fail = (error: BmcError | undefined) => {
    failure = error;
  };
  return {
    enforcer,
    watch,
    clock,
    entries,
    ours,
    busy,
    out,
    off,
    started,
    environments,
    firmware,
    rejected,
    notices,
    logged,
    pass,
    used,
    fail,
  };
}

const OTHER = seenAction({
  ...{ workflowId: "default/w", taskId: "t", agentId: "a", actionId: "x", name: "power-off", image: "i" },
});

function outcomeOf(ended: true | ErrorClass): Outcome {
  const at = new Date(0);
  const common = { startedAt: at, stoppedAt: at, timedOut: false, killed: false };
  if (ended === true) return { ok: true, message: "on", ...common };
  return { ok: false, class: ended, message: `${ended}: \u001b[31mno\n${"x".repeat(500)}`, ...common };
}

const minutes = (started: readonly { readonly atMs: number }[]) =>
  started.map(({ atMs }) => Math.floor(atMs / MINUTE));

describe("a machine whose desired state is enforced", () => {
  test("is corrected after the quiet time, with an event, and compared again", async () => {
    const { watch, notices, pass, started } = lab();
    await pass(QUIET - MINUTE);
    expect(started).toEqual([]);
    expect(watch.find("node-1")?.enforcement).toMatchObject({ state: "waiting" });

    await pass(2 * MINUTE);

    expect(started).toMatchObject([{ name: "power-on" }]);
    expect(minutes(started)).toEqual([30]);
    expect(notices.slice(1)).toEqual([
      "node-1 Normal Correcting: corrects power with power-on",
      "node-1 Normal DriftEnded: is as desired again",
    ]);
    expect(watch.find("node-1")?.enforcement).toBeUndefined();
  });

  test("is not corrected while it is paused", async () => {
    const { out, pass, started, watch } = lab();
    out.add("node-1");
    await pass(3 * HOUR);
    expect(started).toEqual([]);
    expect(watch.find("node-1")?.enforcement).toEqual({ state: "waiting", reason: "the machine is paused" });
    out.delete("node-1");

    await pass(HOUR);
    expect(started).toMatchObject([{ name: "power-on" }]);
  });

  test("is left alone without enforce, and with what needs an image", async () => {
    const { entries, pass, started } = lab({ machines: ["node-1", "node-2"], desired: { power: "on" } });
    entries.set("node-2", { firmware: { BIOS: "2" }, enforce: true });

    await pass(5 * HOUR);

    expect(started).toEqual([]);
  });

  test("gets its firmware once, while the update waits for the next boot", async () => {
    const image = "https://192.0.2.9/bios-2.0.bin";
    const desired = { firmware: { BIOS: { version: "2.0", image } }, enforce: true };
    const { entries, environments, fail, firmware, pass, started, watch } = lab({ desired });

    await pass(5 * HOUR);

    expect(started.map(({ name }) => name)).toEqual(["update-firmware"]);
    expect(environments).toMatchObject([
      {
        FIRMWARE_URI: image,
        TARGETS: "BIOS.Setup.1,BIOS.Setup.2",
        FIRMWARE_VERSION: "2.0",
        TIMEOUT: "4470s",
      },
    ]);
    expect(watch.find("node-1")).toMatchObject({
      differences: [{ field: "firmware.BIOS", state: "pending" }],
    });
    expect(watch.find("node-1")?.enforcement).toBeUndefined();
    // Another setting of the entry changes, and a comparison fails.
    entries.set("node-1", { ...desired, bootDevice: "none" });
    fail(new BmcError("bmc", "ntp: error 500"));
    await pass(2 * HOUR);
    fail(undefined);
    await pass(5 * HOUR);
    expect(started).toHaveLength(1);
    firmware.actual = "2.0";
    await pass(2 * HOUR);
    firmware.actual = "1.0";
    await pass(2 * HOUR);
    expect(started).toHaveLength(2);
  });

  test("gets another image that its entry names while an update waits for the next boot", async () => {
    const desired = (image: string): DesiredState => ({
      firmware: { BIOS: { version: "2.0", image } },
      enforce: true,
    });
    const { entries, environments, pass } = lab({ desired: desired("https://192.0.2.9/a") });
    await pass(2 * HOUR);

    entries.set("node-1", desired("https://192.0.2.9/b"));
    await pass(5 * HOUR);

    expect(environments.map(({ FIRMWARE_URI }) => FIRMWARE_URI)).toEqual([
      "https://192.0.2.9/a",
      "https://192.0.2.9/b",
    ]);
  });

  test("is not sent the update again that an earlier worker's correction left for the next boot", async () => {
    const desired = { firmware: { BIOS: { version: "2.0", image: "https://192.0.2.9/b" } }, enforce: true };
    const { pass, started, watch } = lab({ desired });
    const action = { ...OTHER, agentId: "drift", name: "update-firmware", key: "k" };
    const facts = { action: "update-firmware", ok: true, message: "staged", durationMs: 1, roundTrips: 1 };
    const result = { ...facts, before: [{ id: "BIOS.Setup.1" }], data: { pending: true } };
    const outcome = { ...outcomeOf(true), result };
    await pass(MINUTE);

    watch.observer.action?.({ kind: "ended", action, machine: "node-1", runtime: "test", outcome });
    await pass(5 * HOUR);

    expect(started).toEqual([]);
    const found = watch.find("node-1")?.differences.find(({ setting }) => setting === "firmware");
    expect(found?.state).toBe("pending");
  });

  test("returns to it once no other action has used it for the quiet time", async () => {
    const { off, pass, started, used } = lab();
    await pass(QUIET + MINUTE);
    expect(started).toHaveLength(1);

    await pass(10 * MINUTE);
    await used();
    off.add("node-1");
    await pass(QUIET - MINUTE);
    await used();
    await pass(QUIET - MINUTE);
    expect(started).toHaveLength(1);
    await pass(2 * MINUTE);

    expect(started).toHaveLength(2);
  });

  test("is left alone while a workflow for it has not ended", async () => {
    const { busy, pass, started, watch } = lab();
    busy.add("node-1");
    await pass(3 * HOUR);
    expect(started).toEqual([]);
    expect(watch.find("node-1")?.enforcement?.reason).toBe("a workflow for the machine has not ended");

    busy.delete("node-1");
    await pass(6 * MINUTE);

    expect(started).toHaveLength(1);
  });

  test("is left alone while a setting of it cannot be read", async () => {
    const { fail, pass, started } = lab();
    fail(new BmcError("bmc", "ntp: error 500"));
    await pass(3 * HOUR);
    expect(started).toEqual([]);
  });

  test("has a correction withdrawn that still waits when another action begins", async () => {
    const { pass, rejected, started, used } = lab({ waitMs: 2 * MINUTE });
    await pass(QUIET + MINUTE);

    await used();
    await pass(QUIET - MINUTE);

    expect(started).toEqual([]);
    expect(rejected).toEqual([]);
  });

  test("is compared again before a correction that waited too long", async () => {
    const { pass, rejected, started } = lab({ waitMs: 6 * MINUTE });

    await pass(QUIET + 10 * MINUTE);

    expect(started).toEqual([]);
    expect(rejected).toEqual(["the machine was compared too long ago"]);
  });

  test("is left alone after three failures in a row, until its desired state changes", async () => {
    const { entries, logged, notices, pass, started, watch } = lab({ outcome: () => "verify" });

    await pass(24 * HOUR);

    expect(minutes(started)).toEqual([30, 40, 50]);
    const { state, reason = "" } = watch.find("node-1")?.enforcement ?? {};
    expect(state).toBe("stopped");
    expect(reason).toMatch(/^3 corrections failed in a row: verify: no x+…$/);
    expect(reason.length).toBeLessThan(250);
    expect(logged.filter((line) => line === "machine corrections stopped")).toHaveLength(1);
    expect(notices.at(-1)).toMatch(/^node-1 Warning CorrectionsStopped: 3 corrections failed in a row/);

    entries.set("node-1", { ...ENFORCED, bootDevice: "none" });
    await pass(5 * MINUTE);
    expect(started).toHaveLength(4);
  });

  test("that does not stay corrected is corrected six times in an hour at most", async () => {
    const { pass, started, watch } = lab({ stays: false });

    await pass(QUIET + HOUR - MINUTE);
    expect(started).toHaveLength(6);
    expect(watch.find("node-1")?.enforcement?.reason).toBe("6 corrections of the machine in an hour");
    await pass(HOUR);

    expect(started).toHaveLength(12);
  });

  test("is one of sixty that a worker corrects in an hour", async () => {
    const machines = Array.from({ length: 100 }, (_, index) => `node-${index}`);
    const { pass, rejected, started } = lab({ machines });

    await pass(QUIET + HOUR - MINUTE);
    expect(started).toHaveLength(60);
    await pass(HOUR);

    expect(new Set(started.map(({ machine }) => machine)).size).toBe(100);
    expect(rejected).toEqual([]);
  });

  test("is corrected by the replica that has its lane, after the quiet time", async () => {
    const { ours, pass, started } = lab();
    ours.delete("node-1");
    await pass(3 * HOUR);
    expect(started).toEqual([]);

    ours.add("node-1");
    await pass(QUIET - MINUTE);
    expect(started).toEqual([]);
    await pass(HOUR + MINUTE);

    expect(started).toHaveLength(1);
  });

  test("has the correction of an earlier worker adopted, and is compared again after it", async () => {
    const { clock, enforcer, pass, started, watch } = lab();
    const earlier = { ...OTHER, agentId: "drift", workflowId: "drift/node-1", actionId: "earlier", key: "k" };
    const startedAt = new Date(clock.now());
    const about = { action: earlier, machine: "node-1", runtime: "test" };
    watch.observer.action?.({ kind: "started", ...about, startedAt, timeoutMs: 0, adopted: true });
    await pass(QUIET + MINUTE);
    expect(started).toEqual([]);

    watch.observer.action?.({ kind: "ended", ...about, outcome: outcomeOf("timeout") });
    const status = { action: earlier, startedAt, message: "" };
    const { signal } = new AbortController();
    expect(await enforcer.queue.report({ ...status, state: "failed", stoppedAt: startedAt }, signal)).toEqual(
      {
        kind: "acknowledged",
      },
    );
    expect(await enforcer.queue.report({ ...status, state: "running" }, signal)).toMatchObject({
      kind: "rejected",
      reason: "the correction is withdrawn",
    });
    await pass(MINUTE);
    expect(watch.find("node-1")?.enforcement?.reason).toMatch(/^until the next attempt: timeout/);
    await pass(10 * MINUTE);

    expect(started).toHaveLength(1);
  });

  test("is not corrected once its entry is gone", async () => {
    const { entries, pass, started } = lab();
    await pass(QUIET - 5 * MINUTE);

    entries.delete("node-1");
    await pass(3 * HOUR);

    expect(started).toEqual([]);
  });
});
