import type { Clock } from "../../../../shared/clock.ts";
import type { PowerState } from "../../../../shared/contract/vocabulary.ts";
import { defined } from "../../../../shared/defined.ts";
import { shortened } from "../../../../shared/printable.ts";
import { actionKey } from "../../../action/action.ts";
import { hookNamed } from "../../../action/hooks.ts";
import type {
  ActionEvent,
  FileSeen,
  LaneState,
  Observer,
  PollSeen,
  SeenAction,
} from "../../../action/observer.ts";
import { powerSeen } from "../../../action/power-seen.ts";
import { type ActionRecord, isEnded } from "./action-record.ts";
import type { BoardHistory } from "./board-history.ts";
import { LOG_BOUNDS, type LogBounds, RecentLines } from "./recent-lines.ts";

/** A machine's power state when an action last read it. */
interface PowerReading {
  readonly state: PowerState;
  readonly at: Date;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** The action that read it. */
  readonly by: string;
}

/** The state of a machine. Immutable: every event creates a new record. */
export interface MachineRecord {
  readonly name: string;
  readonly power?: PowerReading;
  /** Keys of its waiting and running actions, in order of arrival. */
  readonly inFlight: readonly string[];
  /** Key of the action that ended last. */
  readonly last?: string;
  readonly revision: number;
}

export interface LaneRecord {
  readonly agentId: string;
  readonly state: LaneState;
  readonly sinceMs: number;
  /** gRPC code of the last failed poll, while polls fail. */
  readonly code?: string;
  readonly revision: number;
}

export interface BoardOptions {
  readonly clock: Clock;
  /** How many ended actions are kept in addition to the last one of each machine. */
  readonly mostEnded?: number;
  readonly logBounds?: LogBounds;
}

const MAX_ENDED = 200;
/** Names from the server can have any length. */
const MAX_NAME_CHARACTERS = 300;

/** The content of the status page, from the worker's events, in bounded memory. */
export class Board {
  readonly #clock: Clock;
  readonly #mostEnded: number;
  readonly #logs: RecentLines;
  readonly #active = new Map<string, ActionRecord>();
  readonly #ended = new Map<string, ActionRecord>();
  /** Ended actions that are kept because they are recent, in the order in which they ended. */
  readonly #newest = new Set<string>();
  readonly #machines = new Map<string, MachineRecord>();
  readonly #lanes = new Map<string, LaneRecord>();
  readonly #failureCodes = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  #known: () => readonly string[] = () => [];
  #revision = 0;

  constructor({ clock, mostEnded = MAX_ENDED, logBounds = LOG_BOUNDS }: BoardOptions) {
    this.#clock = clock;
    this.#mostEnded = mostEnded;
    this.#logs = new RecentLines(logBounds);
  }

  /** Increases with every change. */
  get revision(): number {
    return this.#revision;
  }

  get keptActions(): number {
    return this.#active.size + this.#ended.size;
  }

  get keptMachines(): number {
    return this.#machines.size;
  }

  get keptLogCharacters(): number {
    return this.#logs.characters;
  }

  readonly observer: Pick<Observer, "lane" | "poll" | "action" | "file"> = {
    lane: (agentId, state) => this.#onLane(agentId, state),
    poll: (poll) => this.#onPoll(poll),
    action: (event) => this.#onAction(event),
    file: (file) => this.#onFile(file),
  };

  /** Sets the source of machine names. Other machines are removed when the inventory changes. */
  know(machines: () => readonly string[]): void {
    this.#known = machines;
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

  /** Ended actions, newest first. */
  ended(): readonly ActionRecord[] {
    return [...this.#ended.values()].reverse();
  }

  machine(name: string): MachineRecord | undefined {
    return this.#machines.get(name);
  }

  lanes(): readonly LaneRecord[] {
    return [...this.#lanes.values()];
  }

  log(key: string): ReturnType<RecentLines["of"]> {
    return this.#logs.of(key);
  }

  /** Unresolved failures, newest first: the last action of a machine, or of an agent ID, has failed. */
  failures(): readonly ActionRecord[] {
    const subjects = new Set<string>();
    return this.ended().filter(({ action, machine, phase }) => {
      const subject = machine === undefined ? `agent ${action.agentId}` : `machine ${machine}`;
      if (subjects.has(subject)) return false;
      subjects.add(subject);
      return phase === "failed";
    });
  }

  /** What `restore` takes. */
  kept(): BoardHistory {
    // Of the monotonic clock, on the wall clock.
    const originMs = this.#clock.now() - this.#clock.monotonicMs();
    const actions = [...this.#ended.values()].map(({ revision: _, sinceMs, ...record }) => ({
      ...record,
      phase: record.phase === "succeeded" ? ("succeeded" as const) : ("failed" as const),
      endedAt: new Date(originMs + sinceMs),
    }));
    const machines = [...this.#machines.values()].map(({ name, last, power }) => ({
      name,
      ...defined({ last, power: power && { state: power.state, at: power.at, by: power.by } }),
    }));
    return { version: 1, actions, machines };
  }

  /** Adds what an earlier worker's board kept, before any event. Machines that left the inventory are left out. */
  restore({ actions, machines }: BoardHistory): void {
    const keys = new Set(actions.map(({ action }) => action.key));
    const known = new Set(this.#known());
    const sinceMs = (at: Date) => this.#clock.monotonicMs() - Math.max(0, this.#clock.now() - at.getTime());
    for (const { name, last, power } of machines) {
      if (!known.has(name)) continue;
      this.#setMachine(name, {
        ...(last !== undefined && keys.has(last) && { last }),
        ...defined({ power: power && { ...power, sinceMs: sinceMs(power.at) } }),
      });
    }
    for (const { action, machine, endedAt, ...record } of actions) {
      const identity = identityOf(action, machine);
      this.#keepEnded({
        ...defined(record),
        ...identity,
        sinceMs: sinceMs(endedAt),
        revision: this.#changed(),
      });
    }
  }

  #onLane(agentId: string, state: LaneState | undefined): void {
    if (state === undefined) {
      this.#failureCodes.delete(agentId);
      if (this.#lanes.delete(agentId)) this.#changed();
      return;
    }
    const code = state === "failing" ? this.#failureCodes.get(agentId) : undefined;
    const before = this.#lanes.get(agentId);
    if (before?.state === state && before.code === code) return;
    const sinceMs = before?.state === state ? before.sinceMs : this.#clock.monotonicMs();
    const revision = this.#changed();
    this.#lanes.set(agentId, { agentId, state, sinceMs, ...defined({ code }), revision });
  }

  #onPoll({ agentId, kind, code }: PollSeen): void {
    if (kind === "failed") this.#failureCodes.set(agentId, shortened(code, MAX_NAME_CHARACTERS));
    else this.#failureCodes.delete(agentId);
  }

  #onFile({ name, taken }: FileSeen): void {
    if (name !== "inventory" || !taken) return;
    const known = new Set(this.#known());
    for (const { name: machine, inFlight } of [...this.#machines.values()]) {
      if (!known.has(machine) && inFlight.length === 0) this.#forgetMachine(machine);
    }
    this.#changed();
  }

  #onAction(event: ActionEvent): void {
    const { key } = event.action;
    switch (event.kind) {
      case "taken": {
        const { machine, at: takenAt } = event;
        const sinceMs = this.#clock.monotonicMs();
        this.#begin({
          ...identityOf(event.action, machine),
          phase: "waiting",
          sinceMs,
          takenAt,
          adopted: false,
        });
        return;
      }
      case "refused": {
        const before = this.#active.get(key);
        const record = before ?? { ...identityOf(event.action), adopted: false, takenAt: event.at };
        this.#begin({ ...record, phase: "waiting", sinceMs: this.#clock.monotonicMs() });
        return;
      }
      case "started":
        this.#onStarted(event);
        return;
      case "line":
        this.#onLine(event);
        return;
      case "progress":
        this.#onProgress(event);
        return;
      case "ended":
        this.#onEnded(event);
        return;
      case "reported":
        this.#onReported(event);
        return;
      case "returned":
        this.#remove(key);
        return;
      default:
        event satisfies never;
    }
  }

  #onStarted(event: ActionEvent & { kind: "started" }): void {
    const { action, machine, runtime, startedAt, timeoutMs, adopted } = event;
    const before = this.#active.get(action.key);
    // Only the wall clock shows how long an adopted action has run.
    const ranMs = adopted ? Math.max(0, this.#clock.now() - startedAt.getTime()) : 0;
    const sinceMs = this.#clock.monotonicMs() - ranMs;
    this.#begin({
      ...identityOf(action, machine ?? before?.machine),
      phase: "running",
      sinceMs,
      startedAt,
      runtime,
      timeoutMs,
      adopted,
      ...defined({ takenAt: before?.takenAt }),
    });
  }

  #onLine({ action, line, at }: ActionEvent & { kind: "line" }): void {
    const key = this.#ownKey(action);
    if (key === undefined) return;
    this.#logs.add(key, line, at);
    this.#changed();
  }

  #onProgress({ action, progress, at }: ActionEvent & { kind: "progress" }): void {
    const key = this.#ownKey(action);
    const record = key === undefined ? undefined : this.#active.get(key);
    if (key === undefined || !record) return;
    const { progress: _, ...rest } = record;
    const nowMs = this.#clock.monotonicMs();
    // Another host's clock may be wrong.
    const agoMs = Math.min(Math.max(0, this.#clock.now() - at.getTime()), nowMs - record.sinceMs);
    const now = defined({ progress: progress && { ...progress, sinceMs: nowMs - agoMs } });
    this.#active.set(key, { ...rest, ...now, revision: this.#changed() });
    this.#touchMachine(record.machine);
  }

  /** The key of an action, or of the action that a hook belongs to. */
  #ownKey(action: SeenAction): string | undefined {
    const owner = this.find(action.key) ? action : hookNamed(action)?.owner;
    const key = owner && actionKey(owner);
    return key !== undefined && this.find(key) ? key : undefined;
  }

  #onEnded({ action, machine, runtime, outcome }: ActionEvent & { kind: "ended" }): void {
    const { key } = action;
    const nowMs = this.#clock.monotonicMs();
    const { progress: _, ...before }: Omit<ActionRecord, "revision"> = this.#active.get(key) ?? {
      ...identityOf(action, machine),
      adopted: false,
      sinceMs: nowMs,
      phase: "waiting",
    };
    const ran = before.phase === "running";
    const { ok, message, exitCode, result, startedAt, stoppedAt } = outcome;
    // An adopted action may have ended before this worker started, so only the wall clock shows its duration.
    const told = Math.max(0, stoppedAt.getTime() - startedAt.getTime());
    const durationMs = before.adopted ? told : nowMs - before.sinceMs;
    this.#active.delete(key);
    this.#logs.end(key);
    const name = machine ?? before.machine;
    const record: ActionRecord = {
      ...before,
      phase: ok ? "succeeded" : "failed",
      sinceMs: nowMs,
      stoppedAt,
      reason: message,
      revision: this.#changed(),
      ...(ran && { runtime, startedAt, durationMs }),
      ...defined({ machine: name, class: outcome.class, exitCode, provider: result?.provider }),
    };
    this.#keepEnded(record);
    if (name !== undefined) this.#endAtMachine(name, record, result && powerSeen(result));
  }

  #onReported({ action, delivery, status }: ActionEvent & { kind: "reported" }): void {
    const record = this.#ended.get(action.key);
    if (record) {
      const reported = defined({ reported: status?.message });
      this.#ended.set(action.key, { ...record, delivery, ...reported, revision: this.#changed() });
      this.#touchMachine(record.machine);
    } else if (status && !this.#active.has(action.key)) {
      // Ended under an earlier worker, which did not deliver the report.
      this.#keepEnded({
        ...identityOf(action),
        phase: status.state === "success" ? "succeeded" : "failed",
        adopted: true,
        delivery,
        sinceMs: this.#clock.monotonicMs(),
        startedAt: status.startedAt,
        reason: status.message,
        revision: this.#changed(),
      });
    }
  }

  #keepEnded(record: ActionRecord): void {
    const { key } = record.action;
    this.#ended.set(key, record);
    this.#newest.add(key);
    for (const oldest of this.#newest) {
      if (this.#newest.size <= this.#mostEnded) break;
      this.#newest.delete(oldest);
      this.#release(oldest);
    }
  }

  #begin(record: Omit<ActionRecord, "revision">): void {
    const { key } = record.action;
    // A workflow that was created again may have the same IDs.
    if (this.#ended.has(key)) this.#forgetEnded(key);
    this.#active.set(key, { ...record, revision: this.#changed() });
    if (record.machine === undefined) return;
    const { inFlight = [] } = this.#machines.get(record.machine) ?? {};
    this.#setMachine(record.machine, { inFlight: inFlight.includes(key) ? inFlight : [...inFlight, key] });
  }

  #remove(key: string): void {
    const record = this.#active.get(key);
    if (!record) return;
    this.#active.delete(key);
    this.#logs.forget(key);
    this.#changed();
    if (record.machine !== undefined) this.#setMachine(record.machine, this.#without(record.machine, key));
  }

  #endAtMachine(name: string, { action, stoppedAt, sinceMs }: ActionRecord, state?: PowerState): void {
    const before = this.#machines.get(name);
    const at = stoppedAt ?? new Date(this.#clock.now());
    this.#setMachine(name, {
      ...this.#without(name, action.key),
      last: action.key,
      ...defined({ power: state && { state, at, sinceMs, by: action.name } }),
    });
    if (before?.last !== undefined) this.#release(before.last);
  }

  #without(name: string, key: string): Pick<MachineRecord, "inFlight"> {
    const { inFlight = [] } = this.#machines.get(name) ?? {};
    return { inFlight: inFlight.filter((other) => other !== key) };
  }

  #setMachine(name: string, change: Partial<MachineRecord>): void {
    const before = this.#machines.get(name) ?? { inFlight: [] };
    this.#machines.set(name, { ...before, ...change, name, revision: this.#revision });
  }

  #touchMachine(name: string | undefined): void {
    if (name !== undefined && this.#machines.has(name)) this.#setMachine(name, {});
  }

  #forgetMachine(name: string): void {
    const { last } = this.#machines.get(name) ?? {};
    this.#machines.delete(name);
    if (last !== undefined) this.#release(last);
  }

  #forgetEnded(key: string): void {
    const { machine } = this.#ended.get(key) ?? {};
    this.#ended.delete(key);
    this.#newest.delete(key);
    this.#logs.forget(key);
    const record = machine === undefined ? undefined : this.#machines.get(machine);
    if (record?.last !== key) return;
    const { last: _last, ...rest } = record;
    this.#machines.set(record.name, { ...rest, revision: this.#changed() });
  }

  /** Removes an ended action that is neither recent nor its machine's last one. */
  #release(key: string): void {
    const record = this.#ended.get(key);
    if (!record || !isEnded(record) || this.#newest.has(key)) return;
    if (record.machine !== undefined && this.#machines.get(record.machine)?.last === key) return;
    this.#ended.delete(key);
    this.#logs.forget(key);
  }

  #changed(): number {
    this.#revision += 1;
    for (const listener of this.#listeners) listener();
    return this.#revision;
  }
}

function identityOf(action: SeenAction, machine?: string): Pick<ActionRecord, "action" | "machine"> {
  const short = (text: string) => shortened(text, MAX_NAME_CHARACTERS);
  return {
    action: {
      key: action.key,
      workflowId: short(action.workflowId),
      taskId: short(action.taskId),
      agentId: short(action.agentId),
      actionId: short(action.actionId),
      name: short(action.name),
      image: short(action.image),
    },
    ...defined({ machine }),
  };
}
