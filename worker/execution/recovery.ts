import type { Clock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import { type Redactor, redactor } from "../../shared/secret-forms.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Outcome } from "../action/action.ts";
import { fieldsOf, type LogFields } from "../action/action-status.ts";
import { bootTime, msBetween, parseBootTime } from "../action/boot-time.ts";
import { type Observer, seenAction } from "../action/observer.ts";
import { type JournalEntry, statusOf } from "../journal/entry.ts";
import { failedLaunch, nothingToRemove } from "../runtime/outcome.ts";
import type { Adoption, EndedAction, LaunchHandle, Runtime } from "../runtime/runtime.ts";
import type { Turns } from "../turns/turns.ts";
import { ActionOutput } from "./action-output.ts";
import { ActionRecorder, type RecorderParts } from "./action-recorder.ts";
import type { Conclusion } from "./conclusion.ts";
import type { StopSignals } from "./executor.ts";
import type { LeftoverSweep } from "./leftover-sweep.ts";

export interface RecoveryOptions {
  readonly runtime: Runtime;
  readonly turns: Turns;
  readonly conclusion: Conclusion;
  readonly recording: RecorderParts;
  readonly sweep: Pick<LeftoverSweep, "done">;
  /** Keeps what an action learned about its machine. */
  readonly learn: (machine: string | undefined, outcome: Outcome) => void;
  /** Takes a machine's secrets out of text. Rejects when they cannot be read, and with the signal's reason. */
  readonly redactorOf: RedactorOf;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: Pick<Observer, "action" | "spans">;
}

interface Adopting {
  readonly recorder: ActionRecorder;
  readonly fields: LogFields;
  /** What is wrong with the entry that the action had. */
  readonly damage: string | undefined;
}

export type RedactorOf = (machine: string, signal: AbortSignal) => Promise<Redactor>;

const READ_SECRETS_MS = 15_000;
const WITHHELD = "[withheld: the machine's credentials cannot be read, so they cannot be redacted]";

/** Gives nothing of any text. */
const withheld: Redactor = Object.assign(() => WITHHELD, {
  lines: () => ({ take: () => WITHHELD, gap: () => undefined }),
});

/** After a failure the server serves the action again, and by then it may go. */
const TRY_AGAIN_MS = 5_000;

/** Takes up the actions that an earlier worker left, from whatever step the journal has them at. */
export class Recovery {
  readonly #options: RecoveryOptions;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /**
   * What goes wrong with one action of an earlier run keeps no other from being taken up. `damage` says what is wrong with
   * the entry that the action had; this one is then made of what the server says.
   */
  async takeUp(entry: JournalEntry, signals: StopSignals, damage?: string): Promise<Outcome | undefined> {
    const { clock, log, observer } = this.#options;
    try {
      return await this.#recoverOne(entry, signals, damage);
    } catch (thrown) {
      observer.action({ kind: "left", action: seenAction(entry.action), at: new Date(clock.now()) });
      if (signals.stop.aborted) return undefined;
      const fields = { ...fieldsOf(entry.action, entry.machine), error: textOf(thrown) };
      log.error(fields, "action adoption failed, retrying when served");
      await clock.sleep(TRY_AGAIN_MS, signals.stop).catch(() => undefined);
      return undefined;
    }
  }

  async #recoverOne(
    entry: JournalEntry,
    signals: StopSignals,
    damage: string | undefined,
  ): Promise<Outcome | undefined> {
    const { conclusion, log, recording, sweep } = this.#options;
    const recorder = ActionRecorder.resume(recording, entry);
    const fields = fieldsOf(entry.action, entry.machine);
    if (entry.phase === "ended") {
      log.info({ ...fields, state: entry.end.state }, "report of an earlier run pending");
      // A hook of it may still run, and is a leftover: until it is gone, the machine is not free.
      const free = this.#options.turns.take(entry, signals.stop, () => sweep.done, { actionKey: entry.key });
      await conclusion.reportEnd(
        entry.action,
        statusOf(entry),
        sweptAway,
        { recorder, fields },
        signals.cancel,
      );
      await free;
      return undefined;
    }
    const adopt = () => this.#adopt(entry, { recorder, fields, damage }, signals);
    return this.#options.turns.take(entry, signals.stop, adopt, { actionKey: entry.key });
  }

  async #adopt(
    entry: JournalEntry,
    { recorder, fields, damage }: Adopting,
    signals: StopSignals,
  ): Promise<Outcome | undefined> {
    const { clock, conclusion, learn, log, runtime } = this.#options;
    const startedAt = new Date(entry.startedAt);
    const about = { startedAt, recorder, fields, ...(entry.machine && { machine: entry.machine }) };
    const adoption = await this.#adoption(entry, { fields, damage }, signals.cancel);
    switch (adoption.kind) {
      case "ended":
        if (entry.connected) learn(entry.machine, adoption.ended.outcome);
        return conclusion.conclude(entry.action, adoption.ended, about, signals.cancel);
      case "not-launched":
        log.info(fields, "action of an earlier run not launched: server serves it again");
        await this.#leave(entry, recorder);
        return undefined;
      case "lost": {
        const why = damage === undefined ? "" : `the action's journal entry ${damage}; `;
        const facts = { ...fields, runtime: runtime.name, reason: `${why}${adoption.reason}` };
        if (adoption.idempotent) {
          log.warn(facts, "idempotent action of an earlier run lost: server serves it again");
          await this.#leave(entry, recorder);
          return undefined;
        }
        log.warn(facts, "non-idempotent action of an earlier run lost: not run again");
        const reason = `${facts.reason}; it may have been carried out and is not idempotent, so it is not run again`;
        const lost = nothingToRemove(failedLaunch("internal", reason, startedAt, new Date(clock.now())));
        return conclusion.conclude(entry.action, lost, about, signals.cancel);
      }
      default:
        return adoption satisfies never;
    }
  }

  async #leave({ action }: JournalEntry, recorder: ActionRecorder): Promise<void> {
    const { clock, observer } = this.#options;
    await recorder.forget();
    observer.action({ kind: "left", action: seenAction(action), at: new Date(clock.now()) });
  }

  async #adoption(
    entry: JournalEntry,
    { fields, damage }: Pick<Adopting, "fields" | "damage">,
    cancel: AbortSignal,
  ): Promise<Adoption> {
    const { clock, log, observer, runtime } = this.#options;
    const { connected } = entry;
    const action = seenAction(entry.action);
    const handle: LaunchHandle | undefined = entry.phase === "launched" ? entry.handle : undefined;
    if (entry.runtime !== runtime.name) {
      if (connected && !handle) return { kind: "not-launched" };
      const reason = `the worker was restarted with the runtime ${runtime.name}, it ran with ${entry.runtime}`;
      return { kind: "lost", reason, idempotent: false };
    }
    observer.action({
      ...{ kind: "started", action, ...(entry.machine && { machine: entry.machine }) },
      ...{ runtime: entry.runtime, startedAt: new Date(entry.startedAt) },
      ...{ timeoutMs: entry.timeoutMs, adopted: true },
    });
    const redact = await this.#redactor(entry, fields, cancel);
    const output = new ActionOutput({ action, fields, redact, clock, log, observer });
    const adoption = await runtime.adopt(
      {
        action: entry.action,
        ...defined({ handle }),
        ...(damage === undefined ? {} : { damaged: true }),
        connected,
        startedAt: new Date(entry.startedAt),
        clockSetMs: clockSetSince(entry, clock.now()),
        timeoutMs: entry.timeoutMs,
        ...output.terms,
      },
      cancel,
    );
    if (adoption.kind !== "ended") return adoption;
    const { ended } = adoption;
    return { kind: "ended", ended: { ...ended, outcome: output.complete(ended.outcome) } };
  }

  /** An image of somebody else may print what the worker that launched it gave it. */
  async #redactor(
    { connected, machine }: JournalEntry,
    fields: LogFields,
    cancel: AbortSignal,
  ): Promise<Redactor> {
    if (!connected) return redactor({});
    if (machine === undefined) return withheld;
    try {
      const signal = AbortSignal.any([cancel, AbortSignal.timeout(READ_SECRETS_MS)]);
      return await this.#options.redactorOf(machine, signal);
    } catch (thrown) {
      const facts = { ...fields, error: textOf(thrown) };
      this.#options.log.warn(facts, "output of an adopted action withheld");
      return withheld;
    }
  }
}

/** How far the wall clock was set since an action's start; 0 where the machine was started anew, or does not tell. */
function clockSetSince({ startedAt, startedBootTime }: JournalEntry, nowMs: number): number {
  const tookMs = msBetween(parseBootTime(startedBootTime), bootTime());
  return tookMs === undefined ? 0 : nowMs - Date.parse(startedAt) - tookMs;
}

/** What is left of an action that ended under an earlier worker is a leftover like others. */
const sweptAway: Pick<EndedAction, "remove"> = { remove: async () => undefined };
