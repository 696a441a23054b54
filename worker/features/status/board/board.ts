import type { Clock } from "../../../../shared/clock.ts";
import { defined } from "../../../../shared/defined.ts";
import { actionKey, type Outcome } from "../../../core/action/action.ts";
import { hookNamed } from "../../../core/action/hooks.ts";
import type { ActionEvent, FileSeen, Observer, SeenAction } from "../../../core/action/observer.ts";
import { powerSeen } from "../../../core/action/power-seen.ts";
import { ended, isRetry, progressed, retried, started } from "./action-steps.ts";
import { Activity, type Minute } from "./activity.ts";
import type { BoardHistory } from "./board-history.ts";
import { EndedActions } from "./ended-actions.ts";
import { keptAction, keptMachine, restoredAction, restoredMachine } from "./kept-records.ts";
import { type LaneRecord, LaneRecords } from "./lane-records.ts";
import { changeAtEnd, type MachineRecord } from "./machine-record.ts";
import { MachineRecords } from "./machine-records.ts";
import { LOG_BOUNDS, type LogBounds, RecentLines } from "./recent-lines.ts";
import { type ActionRecord, identityOf } from "./shown-action.ts";

export interface BoardOptions {
  readonly clock: Clock;
  /** How many ended actions are kept in addition to the last one of each machine. */
  readonly mostEnded?: number;
  readonly logBounds?: LogBounds;
}

const MAX_ENDED = 200;

/** The content of the status page, from the worker's events, in bounded memory. */
export class Board {
  readonly #clock: Clock;
  readonly #logs: RecentLines;
  readonly #active = new Map<string, ActionRecord>();
  readonly #ended: EndedActions;
  readonly #machines = new MachineRecords();
  readonly #lanes = new LaneRecords();
  readonly #activity: Activity;
  readonly #listeners = new Set<() => void>();
  #known: () => readonly string[] = () => [];
  #revision = 0;

  constructor({ clock, mostEnded = MAX_ENDED, logBounds = LOG_BOUNDS }: BoardOptions) {
    this.#clock = clock;
    this.#logs = new RecentLines(logBounds);
    this.#activity = new Activity(clock);
    this.#ended = new EndedActions({
      most: mostEnded,
      isKept: ({ action, machine }) =>
        machine !== undefined && this.#machines.get(machine)?.last === action.key,
      onRemoved: (key) => this.#logs.forget(key),
    });
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

  readonly observer: Pick<Observer, "lane" | "poll" | "action" | "file" | "compared"> = {
    lane: (agentId, state) =>
      this.#lanes.see(agentId, state, this.#clock.monotonicMs(), () => this.#changed()),
    poll: (poll) => this.#lanes.poll(poll),
    action: (event) => this.#onAction(event),
    file: (file) => this.#onFile(file),
    // Pages ask the worker's facts themselves.
    compared: () => void this.#changed(),
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
    return this.#ended.all().toReversed();
  }

  machine(name: string): MachineRecord | undefined {
    return this.#machines.get(name);
  }

  lanes(): readonly LaneRecord[] {
    return this.#lanes.all();
  }

  /** The last hour by minute, oldest first. */
  activity(): readonly Minute[] {
    return this.#activity.minutes();
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
    return {
      version: 1,
      actions: this.#ended.all().map((record) => keptAction(record, this.#clock)),
      machines: this.#machines.all().map(keptMachine),
      activity: [...this.#activity.kept()],
    };
  }

  /** Adds what an earlier worker's board kept, before any event. Machines that left the inventory are left out. */
  restore({ actions, machines, activity }: BoardHistory): void {
    const keys = new Set(actions.map(({ action }) => action.key));
    const known = new Set(this.#known());
    for (const kept of machines) {
      if (!known.has(kept.name)) continue;
      const change = restoredMachine(kept, this.#clock, (key) => keys.has(key));
      this.#machines.set(kept.name, change, this.#revision);
    }
    for (const kept of actions) {
      this.#ended.add({ ...restoredAction(kept, this.#clock), revision: this.#changed() });
    }
    this.#activity.restore(activity);
  }

  #onFile({ name, taken }: FileSeen): void {
    if (name !== "inventory" || !taken) return;
    const known = new Set(this.#known());
    for (const { name: machine, inFlight, last } of this.#machines.all()) {
      if (known.has(machine) || inFlight.length > 0) continue;
      this.#machines.delete(machine);
      this.#ended.release(last);
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
        this.#begin(started(this.#active.get(key), event, this.#clock));
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

  #onLine({ action, line, at }: ActionEvent & { kind: "line" }): void {
    const key = this.#ownKey(action);
    if (key === undefined) return;
    this.#logs.add(key, line, at);
    const again = isRetry(line.line) && retried(this.#active.get(key), this.#clock.monotonicMs());
    if (again) this.#active.set(key, { ...again, revision: this.#changed() });
    else this.#changed();
  }

  #onProgress(event: ActionEvent & { kind: "progress" }): void {
    const key = this.#ownKey(event.action);
    const record = key === undefined ? undefined : this.#active.get(key);
    if (key === undefined || !record) return;
    this.#active.set(key, { ...progressed(record, event, this.#clock), revision: this.#changed() });
    this.#machines.touch(record.machine, this.#revision);
  }

  /** The key of an action, or of the action that a hook belongs to. */
  #ownKey(action: SeenAction): string | undefined {
    const owner = this.find(action.key) ? action : hookNamed(action)?.owner;
    const key = owner && actionKey(owner);
    return key !== undefined && this.find(key) ? key : undefined;
  }

  #onEnded(event: ActionEvent & { kind: "ended" }): void {
    const { key } = event.action;
    const step = ended(this.#active.get(key), event, this.#clock.monotonicMs());
    const record = { ...step, revision: this.#changed() };
    this.#active.delete(key);
    this.#logs.end(key);
    this.#ended.add(record);
    this.#activity.ended(event.outcome.ok);
    this.#countQueue();
    if (record.machine !== undefined) this.#endAtMachine(record.machine, record, event.outcome);
  }

  #endAtMachine(
    name: string,
    record: ActionRecord,
    { stoppedAt, result, machineFacts: facts }: Outcome,
  ): void {
    const before = this.#machines.of(name);
    const state = result && powerSeen(result);
    const change = changeAtEnd(before, record, { at: stoppedAt, ...defined({ state, facts }) });
    this.#machines.end(name, record.action.key, change, this.#revision);
    this.#ended.release(before.last);
  }

  #onReported({ action, delivery, status }: ActionEvent & { kind: "reported" }): void {
    const record = this.#ended.get(action.key);
    if (record) {
      const reported = defined({ reported: status?.message });
      this.#ended.replace({ ...record, delivery, ...reported, revision: this.#changed() });
      this.#machines.touch(record.machine, this.#revision);
    } else if (status && !this.#active.has(action.key)) {
      // Ended under an earlier worker, which did not deliver the report.
      this.#ended.add({
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

  #begin(record: Omit<ActionRecord, "revision">): void {
    const { key } = record.action;
    // A workflow that was created again may have the same IDs.
    this.#forgetEnded(key);
    this.#active.set(key, { ...record, revision: this.#changed() });
    this.#countQueue();
    if (record.machine !== undefined) this.#machines.begin(record.machine, key, this.#revision);
  }

  #remove(key: string): void {
    const record = this.#active.get(key);
    if (!record) return;
    this.#active.delete(key);
    this.#logs.forget(key);
    this.#countQueue();
    this.#changed();
    if (record.machine !== undefined) this.#machines.end(record.machine, key, {}, this.#revision);
  }

  #forgetEnded(key: string): void {
    const record = this.#ended.get(key);
    if (!record) return;
    this.#ended.remove(key);
    if (record.machine !== undefined) this.#machines.forgetLast(record.machine, key, this.#changed());
  }

  #countQueue(): void {
    let waiting = 0;
    for (const { phase } of this.#active.values()) if (phase === "waiting") waiting += 1;
    this.#activity.queue(waiting);
  }

  #changed(): number {
    this.#revision += 1;
    for (const listener of this.#listeners) listener();
    return this.#revision;
  }
}
