import type { Clock } from "../../../../shared/clock.ts";
import { shortened } from "../../../../shared/printable.ts";
import { actionKey } from "../../../core/action/action.ts";
import { hookNamed } from "../../../core/action/hooks.ts";
import { readLogLine } from "../../../core/action/log-line.ts";
import type { ActionEvent, SeenAction } from "../../../core/action/observer.ts";
import type { WorkerObserver } from "../../shared/observer.ts";
import { powerSeen } from "../../shared/power-seen.ts";
import { Activity } from "./activity.ts";
import { RecentLines } from "./recent-lines.ts";
import type { ActionRecord, AgentRecord, History, MachineRecord, Minute } from "./records.ts";

/** The number of ended actions to keep, in addition to the last one of each machine. */
const MAX_ENDED = 200;
/** Limits per machine and action, because there may be thousands. */
const MAX_POWER_CHANGES = 10;
const MAX_FAILURES = 3;
const MAX_RETRIES = 50;
/** Names from the server may have any length. */
const LONGEST_NAME = 300;

/** The content of the status page, from the worker's events, in bounded memory. */
export class Board {
  readonly #clock: Clock;
  readonly #mostEnded: number;
  readonly #logs = new RecentLines();
  readonly #activity: Activity;
  /** Actions that wait or run. */
  readonly #active = new Map<string, ActionRecord>();
  /** Ended actions, the oldest first. */
  readonly #ended = new Map<string, ActionRecord>();
  /** Keys of actions that are kept because they are recent, the oldest first. */
  readonly #recent = new Set<string>();
  readonly #machines = new Map<string, MachineRecord>();
  readonly #agents = new Map<string, AgentRecord>();
  readonly #pollCodes = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  #inventory: () => readonly string[] = () => [];
  #revision = 0;

  constructor(clock: Clock, mostEnded = MAX_ENDED) {
    this.#clock = clock;
    this.#mostEnded = mostEnded;
    this.#activity = new Activity(clock);
  }

  /** Increases with every change. */
  get revision(): number {
    return this.#revision;
  }

  readonly observer: WorkerObserver = {
    lane: (agentId, state) => {
      if (state === undefined) this.#pollCodes.delete(agentId);
      const code = state === "failing" ? this.#pollCodes.get(agentId) : undefined;
      const before = this.#agents.get(agentId);
      if (before?.state === state && before?.code === code) return;
      const sinceMs = before?.state === state ? before?.sinceMs : undefined;
      if (state === undefined) this.#agents.delete(agentId);
      else this.#agents.set(agentId, { agentId, state, code, sinceMs: sinceMs ?? this.#clock.monotonicMs() });
      this.#changed();
    },
    poll: ({ agentId, kind, code }) => {
      if (kind === "failed") this.#pollCodes.set(agentId, shortened(code, LONGEST_NAME));
      else this.#pollCodes.delete(agentId);
    },
    action: (event) => this.#onAction(event),
    file: ({ name, taken }) => {
      if (name === "inventory" && taken) this.#forgetMachines();
    },
    // Pages read the worker's facts themselves.
    compared: () => this.#changed(),
  };

  /** Sets the source of machine names. Other machines are removed when the inventory changes. */
  know(machines: () => readonly string[]): void {
    this.#inventory = machines;
  }

  /** Calls `listener` after every change, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  find(key: string): ActionRecord | undefined {
    return this.#active.get(key) ?? this.#ended.get(key);
  }

  /** Waiting and running actions, in order of arrival. */
  active(): readonly ActionRecord[] {
    return [...this.#active.values()];
  }

  /** Ended actions, the newest first. */
  ended(): readonly ActionRecord[] {
    return [...this.#ended.values()].reverse();
  }

  machine(name: string): MachineRecord | undefined {
    return this.#machines.get(name);
  }

  agents(): readonly AgentRecord[] {
    return [...this.#agents.values()];
  }

  /** The last hour by minute, oldest first. */
  activity(): readonly Minute[] {
    return this.#activity.minutes();
  }

  log(key: string): ReturnType<RecentLines["of"]> {
    return this.#logs.of(key);
  }

  /** Unresolved failures, the newest first: the last action of a machine or of an agent ID has failed. */
  failures(): readonly ActionRecord[] {
    const subjects = new Set<string>();
    return this.ended().filter(({ action, machine, phase }) => {
      const subject = machine === undefined ? `agent ${action.agentId}` : `machine ${machine}`;
      if (subjects.has(subject)) return false;
      subjects.add(subject);
      return phase === "failed";
    });
  }

  kept(): History {
    return {
      actions: [...this.#ended.values()],
      machines: [...this.#machines.values()],
      activity: [...this.#activity.minutes()],
      version: 1,
    };
  }

  /** Restores the board of an earlier worker; call it before any event. Machines that left the inventory are left out. */
  restore({ actions, machines, activity }: History): void {
    const keys = new Set(actions.map(({ action }) => action.key));
    const inventory = new Set(this.#inventory());
    for (const { last = "", ...machine } of machines) {
      if (!inventory.has(machine.name)) continue;
      this.#machines.set(machine.name, { ...machine, ...(keys.has(last) && { last }) });
    }
    for (const record of actions) this.#addEnded(record);
    this.#activity.restore(activity);
    this.#changed();
  }

  #onAction(event: ActionEvent): void {
    const { action } = event;
    const { key } = action;
    const nowMs = this.#clock.monotonicMs();
    const before = this.#active.get(key);
    switch (event.kind) {
      case "taken":
      case "refused": {
        if (event.kind === "refused" && before) return;
        const machine = event.kind === "taken" ? event.machine : undefined;
        const waiting = { machine, phase: "waiting", sinceMs: nowMs, takenAt: event.at } as const;
        this.#begin({ ...waiting, action: shortNames(action), adopted: false });
        return;
      }
      case "started": {
        const { machine = before?.machine, runtime, startedAt, timeoutMs, adopted } = event;
        // Only the wall clock shows how long an adopted action has run.
        const ranMs = adopted ? Math.max(0, this.#clock.now() - startedAt.getTime()) : 0;
        const waitedMs = !adopted && before?.phase === "waiting" ? nowMs - before.sinceMs : undefined;
        this.#begin({
          action: shortNames(action),
          machine,
          phase: "running",
          sinceMs: nowMs - ranMs,
          takenAt: before?.takenAt,
          startedAt,
          runtime,
          timeoutMs,
          adopted,
          waitedMs,
        });
        return;
      }
      case "line":
      case "progress":
        this.#onOutput(event, nowMs);
        return;
      case "ended":
        this.#onEnded(event, nowMs);
        return;
      case "reported":
        this.#onReported(event, nowMs);
        return;
      case "returned":
        if (!this.#active.delete(key)) return;
        this.#logs.forget(key);
        this.#countQueue();
        this.#changed();
        return;
      default:
        event satisfies never;
    }
  }

  #begin(record: ActionRecord): void {
    const { key } = record.action;
    // A workflow that was created again may have the same IDs.
    const { machine } = this.#ended.get(key) ?? {};
    this.#forget(key);
    const known = machine === undefined ? undefined : this.#machines.get(machine);
    if (known?.last === key) this.#machines.set(known.name, { ...known, last: undefined });
    this.#active.set(key, record);
    this.#countQueue();
    this.#changed();
  }

  /** Adds a line or the progress of an action, or of a hook that belongs to it. */
  #onOutput(event: ActionEvent & { kind: "line" | "progress" }, nowMs: number): void {
    const owner = this.find(event.action.key) ? event.action : hookNamed(event.action)?.owner;
    const key = owner && actionKey(owner);
    if (key === undefined || !this.find(key)) return;
    const record = this.#active.get(key);
    if (event.kind === "line") {
      this.#logs.add(key, event.line, event.at);
      const { retriesMs = [] } = record ?? {};
      if (record?.phase === "running" && retriesMs.length < MAX_RETRIES && isRetry(event.line.line)) {
        const retryMs = Math.round(nowMs - record.sinceMs);
        this.#active.set(key, { ...record, retriesMs: [...retriesMs, retryMs] });
      }
    } else if (record) {
      const { progress, at } = event;
      // Another host's clock may be wrong.
      const agoMs = Math.min(Math.max(0, this.#clock.now() - at.getTime()), nowMs - record.sinceMs);
      this.#active.set(key, { ...record, progress: progress && { ...progress, sinceMs: nowMs - agoMs } });
    }
    this.#changed();
  }

  #onEnded(event: ActionEvent & { kind: "ended" }, nowMs: number): void {
    const { ok, message, exitCode, result, startedAt, stoppedAt, class: errorClass } = event.outcome;
    const { key } = event.action;
    const unknown = { action: shortNames(event.action), adopted: false, phase: "waiting" } as const;
    const before: ActionRecord = this.#active.get(key) ?? { ...unknown, sinceMs: nowMs };
    const waitedMs = nowMs - before.sinceMs;
    // An adopted action may have ended before this worker started, so only the wall clock shows its duration.
    const toldMs = Math.max(0, stoppedAt.getTime() - startedAt.getTime());
    const durationMs = before.adopted ? toldMs : waitedMs;
    const record: ActionRecord = {
      ...before,
      machine: event.machine ?? before.machine,
      phase: ok ? "succeeded" : "failed",
      sinceMs: nowMs,
      stoppedAt,
      progress: undefined,
      class: errorClass,
      reason: message,
      exitCode,
      provider: result?.provider,
      ...(before.phase === "running" ? { runtime: event.runtime, startedAt, durationMs } : { waitedMs }),
    };
    this.#active.delete(key);
    this.#logs.end(key);
    const old = this.#endAtMachine(record, event);
    this.#addEnded(record);
    this.#release(old);
    this.#activity.ended(ok);
    this.#countQueue();
    this.#changed();
  }

  /** Returns the key of the machine's previous action. */
  #endAtMachine(record: ActionRecord, { outcome }: ActionEvent & { kind: "ended" }): string | undefined {
    const { machine: name, action, sinceMs, class: errorClass, reason, provider } = record;
    if (name === undefined) return undefined;
    const before = this.#machines.get(name) ?? { name, powerChanges: [], failures: [] };
    const { stoppedAt: at, result, machineFacts } = outcome;
    const state = result && powerSeen(result);
    const power = state ? { state, at, sinceMs, by: action.name } : before.power;
    const isChange = state !== undefined && before.powerChanges[0]?.state !== state;
    const failure = { key: action.key, name: action.name, at, sinceMs, class: errorClass, reason };
    const others = before.failures.filter(({ key }) => key !== action.key);
    this.#machines.set(name, {
      name,
      power,
      provider: provider ?? before.provider,
      last: action.key,
      powerChanges: newest(isChange ? power : undefined, before.powerChanges, MAX_POWER_CHANGES),
      failures: newest(record.phase === "failed" ? failure : undefined, others, MAX_FAILURES),
      known: machineFacts
        ? { facts: { ...before.known?.facts, ...machineFacts }, by: action.name, at }
        : before.known,
    });
    return before.last;
  }

  #onReported(event: ActionEvent & { kind: "reported" }, nowMs: number): void {
    const { action, delivery, status } = event;
    const record = this.#ended.get(action.key);
    if (record) {
      // Keeps the place in the order.
      const reported = status?.message ?? record.reported;
      this.#ended.set(action.key, { ...record, delivery, reported });
    } else if (status && !this.#active.has(action.key)) {
      // The action ended under an earlier worker that did not deliver the report.
      this.#addEnded({
        action: shortNames(action),
        adopted: true,
        delivery,
        sinceMs: nowMs,
        phase: status.state === "success" ? "succeeded" : "failed",
        startedAt: status.startedAt,
        reason: status.message,
      });
    }
    this.#changed();
  }

  #addEnded(record: ActionRecord): void {
    this.#ended.set(record.action.key, record);
    this.#recent.add(record.action.key);
    for (const oldest of this.#recent) {
      if (this.#recent.size <= this.#mostEnded) break;
      this.#recent.delete(oldest);
      this.#release(oldest);
    }
  }

  /** Removes an ended action unless it is recent or the last one of its machine. */
  #release(key = ""): void {
    const { machine = "" } = this.#ended.get(key) ?? {};
    if (!this.#recent.has(key) && this.#machines.get(machine)?.last !== key) this.#forget(key);
  }

  #forget(key: string): void {
    this.#recent.delete(key);
    if (this.#ended.delete(key)) this.#logs.forget(key);
  }

  #forgetMachines(): void {
    const kept = new Set(this.#inventory());
    for (const { machine = "" } of this.#active.values()) kept.add(machine);
    for (const { name, last } of this.#machines.values()) {
      if (kept.has(name)) continue;
      this.#machines.delete(name);
      this.#release(last);
    }
    this.#changed();
  }

  #countQueue(): void {
    let waiting = 0;
    for (const { phase } of this.#active.values()) if (phase === "waiting") waiting += 1;
    this.#activity.queue(waiting);
  }

  #changed(): void {
    this.#revision += 1;
    for (const listener of this.#listeners) listener();
  }
}

function shortNames({ key, workflowId, taskId, agentId, actionId, name, image }: SeenAction): SeenAction {
  const short = (text: string) => shortened(text, LONGEST_NAME);
  return {
    key,
    workflowId: short(workflowId),
    taskId: short(taskId),
    agentId: short(agentId),
    actionId: short(actionId),
    name: short(name),
    image: short(image),
  };
}

/** Whether a log line announces a retry. Such lines contain the number of the failed attempt: `BMC call failed, retrying`. */
function isRetry(line: string): boolean {
  return line.includes('"attempt"') && typeof readLogLine(line).fields["attempt"] === "number";
}

function newest<T>(item: T | undefined, before: readonly T[], most: number): T[] {
  return (item === undefined ? before : [item, ...before]).slice(0, most);
}
