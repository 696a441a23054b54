import type { Clock } from "../../../../shared/clock.ts";
import type { PowerState } from "../../../../shared/contract/vocabulary.ts";
import { shortened } from "../../../../shared/printable.ts";
import { actionKey } from "../../../action/action-key.ts";
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
import { LOG_BOUNDS, type LogBounds, RecentLines } from "./recent-lines.ts";

/** A machine's power as an action read it; what happened since is not known. */
export interface PowerReading {
  readonly state: PowerState;
  readonly at: Date;
  /** On the clock that never goes backwards. */
  readonly sinceMs: number;
  /** The action that read it. */
  readonly by: string;
}

/** What is known of a machine; a new one replaces it with everything that happens. */
export interface MachineRecord {
  readonly name: string;
  readonly power?: PowerReading;
  /** Keys of the actions that wait or run, in the order in which they came. */
  readonly atHand: readonly string[];
  /** Key of the one that ended last. */
  readonly last?: string;
  readonly revision: number;
}

export interface LaneRecord {
  readonly agentId: string;
  readonly state: LaneState;
  readonly sinceMs: number;
  /** gRPC's name for why its last poll failed, while it is failing. */
  readonly code?: string;
  readonly revision: number;
}

export interface BoardOptions {
  readonly clock: Clock;
  /** How many ended actions are kept beside the last one of each machine. */
  readonly mostEnded?: number;
  readonly logBounds?: LogBounds;
}

const MOST_ENDED = 200;
/** Names come from the server, which may make them as long as it likes. */
const NAME_CHARACTERS = 300;

/** What the status page shows, kept up to date by what the worker says, in bounded memory. */
export class Board {
  readonly #clock: Clock;
  readonly #mostEnded: number;
  readonly #logs: RecentLines;
  readonly #active = new Map<string, ActionRecord>();
  readonly #ended = new Map<string, ActionRecord>();
  /** Of those in `#ended` that are kept because they are new; in the order in which they ended. */
  readonly #newest = new Set<string>();
  readonly #machines = new Map<string, MachineRecord>();
  readonly #lanes = new Map<string, LaneRecord>();
  readonly #failureCodes = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  #known: () => readonly string[] = () => [];
  #revision = 0;

  constructor({ clock, mostEnded = MOST_ENDED, logBounds = LOG_BOUNDS }: BoardOptions) {
    this.#clock = clock;
    this.#mostEnded = mostEnded;
    this.#logs = new RecentLines(logBounds);
  }

  /** Goes up with every change. */
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

  /** The board's side that the worker tells. */
  readonly observer: Pick<Observer, "lane" | "poll" | "action" | "file"> = {
    lane: (agentId, state) => this.#takeLane(agentId, state),
    poll: (poll) => this.#takePoll(poll),
    action: (event) => this.#takeEvent(event),
    file: (file) => this.#takeFile(file),
  };

  /** Which machines the inventory has; others are forgotten when it changes. */
  know(machines: () => readonly string[]): void {
    this.#known = machines;
  }

  /** Calls `listener` after every change, until what is returned is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  find(key: string): ActionRecord | undefined {
    return this.#active.get(key) ?? this.#ended.get(key);
  }

  /** Those that wait or run, in the order in which they came. */
  active(): readonly ActionRecord[] {
    return [...this.#active.values()];
  }

  /** Those that have ended, the newest first. */
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

  /** What failed and was not made good since: the last action of a machine, or of an agent ID, the newest first. */
  failures(): readonly ActionRecord[] {
    const subjects = new Set<string>();
    return this.ended().filter(({ action, machine, phase }) => {
      const subject = machine === undefined ? `agent ${action.agentId}` : `machine ${machine}`;
      if (subjects.has(subject)) return false;
      subjects.add(subject);
      return phase === "failed";
    });
  }

  #takeLane(agentId: string, state: LaneState | undefined): void {
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
    this.#lanes.set(agentId, { agentId, state, sinceMs, ...(code && { code }), revision });
  }

  #takePoll({ agentId, kind, code }: PollSeen): void {
    if (kind === "failed") this.#failureCodes.set(agentId, shortened(code, NAME_CHARACTERS));
    else this.#failureCodes.delete(agentId);
  }

  #takeFile({ name, taken }: FileSeen): void {
    if (name !== "inventory" || !taken) return;
    const known = new Set(this.#known());
    for (const { name: machine, atHand } of [...this.#machines.values()]) {
      if (!known.has(machine) && atHand.length === 0) this.#forgetMachine(machine);
    }
    this.#changed();
  }

  #takeEvent(event: ActionEvent): void {
    const { key } = event.action;
    switch (event.kind) {
      case "taken": {
        const { machine, at: takenAt } = event;
        const sinceMs = this.#clock.monotonicMs();
        this.#begin({ ...about(event.action, machine), phase: "waiting", sinceMs, takenAt, adopted: false });
        return;
      }
      case "refused": {
        const before = this.#active.get(key);
        const record = before ?? { ...about(event.action), adopted: false, takenAt: event.at };
        this.#begin({ ...record, phase: "waiting", sinceMs: this.#clock.monotonicMs() });
        return;
      }
      case "started":
        this.#takeStart(event);
        return;
      case "line":
        this.#takeLine(event);
        return;
      case "ended":
        this.#takeEnd(event);
        return;
      case "reported":
        this.#takeReport(event);
        return;
      case "returned":
        this.#leave(key);
        return;
      default:
        event satisfies never;
    }
  }

  #takeStart(event: ActionEvent & { kind: "started" }): void {
    const { action, machine, runtime, startedAt, timeoutMs, adopted } = event;
    const before = this.#active.get(action.key);
    // What an earlier worker started has run for a time that only the wall clock tells.
    const ranMs = adopted ? Math.max(0, this.#clock.now() - startedAt.getTime()) : 0;
    const sinceMs = this.#clock.monotonicMs() - ranMs;
    this.#begin({
      ...about(action, machine ?? before?.machine),
      ...(before?.takenAt && { takenAt: before.takenAt }),
      ...{ phase: "running", sinceMs, startedAt, runtime, timeoutMs, adopted },
    });
  }

  #takeLine({ action, line, at }: ActionEvent & { kind: "line" }): void {
    const key = this.find(action.key) ? action.key : hookedKey(action);
    if (key === undefined || !this.find(key)) return;
    this.#logs.add(key, line, at);
    this.#changed();
  }

  #takeEnd({ action, machine, runtime, outcome }: ActionEvent & { kind: "ended" }): void {
    const { key } = action;
    const nowMs = this.#clock.monotonicMs();
    const before = this.#active.get(key) ?? {
      ...about(action, machine),
      adopted: false,
      sinceMs: nowMs,
      phase: "waiting",
    };
    const ran = before.phase === "running";
    const { ok, message, exitCode, result, startedAt, stoppedAt } = outcome;
    // An adopted one may have ended while nobody looked on, which only the wall clock tells.
    const told = Math.max(0, stoppedAt.getTime() - startedAt.getTime());
    const durationMs = before.adopted ? told : nowMs - before.sinceMs;
    this.#active.delete(key);
    this.#logs.end(key);
    const name = machine ?? before.machine;
    const record: ActionRecord = {
      ...before,
      ...{ phase: ok ? "succeeded" : "failed", sinceMs: nowMs, reason: message, revision: this.#changed() },
      ...(name !== undefined && { machine: name }),
      ...(ran && { runtime, startedAt, stoppedAt, durationMs }),
      ...(!ran && { stoppedAt }),
      ...(outcome.class && { class: outcome.class }),
      ...(exitCode !== undefined && { exitCode }),
      ...(result?.provider && { provider: result.provider }),
    };
    this.#keepEnded(record);
    if (name !== undefined) this.#endAtMachine(name, record, result && powerSeen(result));
  }

  #takeReport({ action, delivery, status }: ActionEvent & { kind: "reported" }): void {
    const record = this.#ended.get(action.key);
    if (record) {
      const told = { delivery, ...(status && { reported: status.message }), revision: this.#changed() };
      this.#ended.set(action.key, { ...record, ...told });
      this.#touchMachine(record.machine);
    } else if (status && !this.#active.has(action.key)) {
      // Its end is one that an earlier worker wrote down and did not get reported.
      this.#keepEnded({
        ...about(action),
        ...{ phase: status.state === "success" ? "succeeded" : "failed", adopted: true, delivery },
        ...{ sinceMs: this.#clock.monotonicMs(), startedAt: status.startedAt },
        ...{ reason: status.message, revision: this.#changed() },
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
    // A workflow that was made anew may have the IDs of the one before.
    if (this.#ended.has(key)) this.#forgetEnded(key);
    this.#active.set(key, { ...record, revision: this.#changed() });
    if (record.machine === undefined) return;
    const { atHand = [] } = this.#machines.get(record.machine) ?? {};
    this.#setMachine(record.machine, { atHand: atHand.includes(key) ? atHand : [...atHand, key] });
  }

  #leave(key: string): void {
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
      ...(state && { power: { state, at, sinceMs, by: action.name } }),
    });
    if (before?.last !== undefined) this.#release(before.last);
  }

  #without(name: string, key: string): Pick<MachineRecord, "atHand"> {
    const { atHand = [] } = this.#machines.get(name) ?? {};
    return { atHand: atHand.filter((other) => other !== key) };
  }

  #setMachine(name: string, change: Partial<MachineRecord>): void {
    const before = this.#machines.get(name) ?? { atHand: [] };
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

  /** Forgets an ended action that is kept for no reason any more. */
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

function about(action: SeenAction, machine?: string): Pick<ActionRecord, "action" | "machine"> {
  const { key, workflowId, taskId, agentId, actionId, name, image } = action;
  const short = (text: string) => shortened(text, NAME_CHARACTERS);
  return {
    action: {
      ...{ key, workflowId: short(workflowId), taskId: short(taskId), agentId: short(agentId) },
      ...{ actionId: short(actionId), name: short(name), image: short(image) },
    },
    ...(machine !== undefined && { machine }),
  };
}

/** The action that a hook belongs to: `hooksOf` makes its ID out of the action's. */
function hookedKey({ workflowId, actionId }: SeenAction): string | undefined {
  const [, hooked] = /^(.+)\/on-(?:timeout|failure)$/s.exec(actionId) ?? [];
  return hooked === undefined ? undefined : actionKey({ workflowId, actionId: hooked });
}
