import { defined } from "../../shared/defined.ts";
import { logOutage } from "../../shared/log-outage.ts";
import { type Redactor, redactor } from "../../shared/secret-forms.ts";
import { textOf } from "../../shared/text-of.ts";
import { fieldsOf, type LogFields, type Outcome } from "../action/action.ts";
import { bootTime, msBetween, parseBootTime } from "../action/boot-time.ts";
import { type Observer, seenAction } from "../action/observer.ts";
import { isUnreported, type JournalEntry, statusOf } from "../journal/entry.ts";
import { failedAction } from "../runtime/outcome.ts";
import type { Adoption, Runtime } from "../runtime/runtime.ts";
import type { Turns } from "../turns/turns.ts";
import { ActionOutput } from "./action-output.ts";
import { ActionRecorder, type RecorderOptions } from "./action-recorder.ts";
import type { Conclusion } from "./conclude.ts";
import type { LearnedHints } from "./learned-hints.ts";
import type { OrphanSweep } from "./orphan-sweep.ts";
import type { StopSignals } from "./stop-signals.ts";
import type { Checking, WorkflowCheck } from "./workflow-check.ts";

export interface AdopterOptions {
  readonly runtime: Runtime;
  readonly turns: Turns;
  readonly conclusion: Conclusion;
  readonly workflowCheck: WorkflowCheck;
  readonly recording: RecorderOptions;
  readonly sweep: Pick<OrphanSweep, "again" | "done">;
  readonly hints: LearnedHints;
  /** Redacts a machine's secrets. Rejects when they cannot be read, and with the signal's reason. */
  readonly redactorOf: (machine: string, signal: AbortSignal) => Promise<Redactor>;
  readonly observer: Pick<Observer, "action" | "spans">;
}

interface AdoptionTerms {
  /** The problem of the journal entry, if it is damaged: the entry may be made from what the server says. */
  readonly damage?: string;
  /** The server has not served the action to this worker, and an earlier leader may have reported its end. */
  readonly isShared?: boolean;
}

interface Adopting extends AdoptionTerms {
  readonly entry: JournalEntry;
  readonly recorder: ActionRecorder;
  readonly fields: LogFields;
}

const READ_SECRETS_MS = 15_000;
const WITHHELD = "[withheld: the machine's credentials cannot be read, so they cannot be redacted]";

const withheldLines = { take: () => WITHHELD, gap: () => undefined };
const withheld: Redactor = Object.assign(() => WITHHELD, {
  lines: () => withheldLines,
  joined: (count: number) => Array.from({ length: count }, () => withheldLines),
});

const RETRY_PAUSE_MS = 5_000;
/** Until an action that cannot be adopted has certainly ended, beside its timeout. */
const STOP_MS = 30_000;

/** Continues with the actions of an earlier worker, from the step that the journal has. */
export class Adopter {
  readonly #options: AdopterOptions;

  constructor(options: AdopterOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async adopt(
    entry: JournalEntry,
    signals: StopSignals,
    terms: AdoptionTerms = {},
  ): Promise<Outcome | undefined> {
    const { recording } = this.#options;
    const { clock, log } = recording;
    const fields = fieldsOf(entry.action, entry.machine);
    const adopting = { entry, recorder: new ActionRecorder(recording, entry), fields, ...terms };
    let hadTurn = false;
    try {
      if (isUnreported(entry)) return await this.#report(adopting, statusOf(entry), signals);
      const inTurn = () => {
        hadTurn = true;
        return this.#adoptUntilOver(adopting, signals);
      };
      const purpose = { actionKey: entry.key, workflowId: entry.action.workflowId };
      const outcome = await this.#options.turns.take(entry, signals.stop, inTurn, purpose);
      // A Job of another action uses its BMC: the server serves the action again.
      if (!hadTurn && !signals.stop.aborted) await this.#return(adopting);
      return outcome;
    } catch (thrown) {
      // The server serves the action again.
      this.#returned(entry);
      if (signals.stop.aborted) return undefined;
      log.error({ ...fields, error: textOf(thrown) }, "action adoption failed, retrying when served");
      await clock.sleep(RETRY_PAUSE_MS, signals.stop).catch(() => undefined);
      return undefined;
    }
  }

  /** Keeps the machine's turn while the action may still run. */
  async #adoptUntilOver(adopting: Adopting, { stop, cancel }: StopSignals): Promise<Outcome | undefined> {
    const { clock, log } = this.#options.recording;
    const overMs = clock.monotonicMs() + adopting.entry.timeoutMs + STOP_MS;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#adopt(adopting, cancel);
      } catch (thrown) {
        if (stop.aborted || clock.monotonicMs() >= overMs) throw thrown;
        const facts = { ...adopting.fields, error: textOf(thrown) };
        logOutage(log, attempt === 1, facts, "action adoption failed, retrying");
        await clock.sleep(RETRY_PAUSE_MS, stop);
      }
    }
  }

  async #report(
    { entry, recorder, fields }: Adopting,
    status: ReturnType<typeof statusOf>,
    { stop, cancel }: StopSignals,
  ): Promise<undefined> {
    const { conclusion, recording, sweep, turns } = this.#options;
    recording.log.info({ ...fields, state: status.state }, "report of an earlier run pending");
    // Its hook may still run: the machine is free only after the orphan sweep.
    const free = turns.take(entry, stop, () => sweep.done, { actionKey: entry.key });
    // Its container is no longer needed, but its Job is marked, for the next leader.
    const remove = async () => sweep.again();
    await conclusion.reportEnd(entry.action, status, { remove }, { recorder, fields }, cancel);
    await free;
    return undefined;
  }

  async #adopt(adopting: Adopting, stopNow: AbortSignal): Promise<Outcome | undefined> {
    const { conclusion, hints, recording, runtime } = this.#options;
    const { clock, log } = recording;
    const { entry, recorder, fields, damage, isShared } = adopting;
    const startedAt = new Date(entry.startedAt);
    const about = { startedAt, recorder, fields, ...defined({ machine: entry.machine }) };
    const { cancel, end } = this.#checking(adopting, stopNow);
    const adoption = await this.#adoption(adopting, cancel).finally(end);
    switch (adoption.kind) {
      case "ended":
        if (entry.connected) hints.learn(entry.machine, adoption.ended.outcome.result?.hint);
        return conclusion.conclude(entry.action, adoption.ended, about, cancel);
      case "not-launched":
        log.info(fields, "action of an earlier run not launched: server serves it again");
        await this.#return(adopting);
        return undefined;
      case "lost": {
        const why = damage === undefined ? "" : `the action's journal entry ${damage}; `;
        const facts = { ...fields, runtime: runtime.name, reason: `${why}${adoption.reason}` };
        if (adoption.idempotent) {
          log.warn(facts, "idempotent action of an earlier run lost: server serves it again");
          await this.#return(adopting);
          return undefined;
        }
        log.warn(facts, "non-idempotent action of an earlier run lost: not run again");
        const reason = `${facts.reason}; it may have been carried out and is not idempotent, so it is not run again`;
        const lost = failedAction("internal", reason, startedAt, new Date(clock.now()));
        if (isShared) {
          await conclusion.withhold(entry.action, lost, about);
          this.#returned(entry);
          return undefined;
        }
        return conclusion.conclude(entry.action, lost, about, cancel);
      }
      default:
        return adoption satisfies never;
    }
  }

  #checking({ entry, isShared }: Adopting, cancel: AbortSignal): Checking {
    // A report of RUNNING would replace an end that an earlier leader reported.
    if (isShared) return { cancel, end: () => undefined };
    const { action, machine, startedAt } = entry;
    const running = { state: "running", startedAt: new Date(startedAt), message: "running" } as const;
    return this.#options.workflowCheck.begin({ action, ...defined({ machine }), ...running }, cancel);
  }

  async #return({ entry, recorder }: Adopting): Promise<void> {
    await recorder.forget();
    this.#returned(entry);
  }

  #returned(entry: JournalEntry): void {
    const { observer, recording } = this.#options;
    const at = new Date(recording.clock.now());
    observer.action({ kind: "returned", action: seenAction(entry.action), at });
  }

  async #adoption({ entry, fields, damage }: Adopting, cancel: AbortSignal): Promise<Adoption> {
    const { observer, recording, runtime } = this.#options;
    const { clock, log } = recording;
    const { connected, machine, timeoutMs } = entry;
    const action = seenAction(entry.action);
    const startedAt = new Date(entry.startedAt);
    const handle = entry.phase === "launched" ? entry.handle : undefined;
    if (entry.runtime !== runtime.name) {
      if (connected && !handle) return { kind: "not-launched" };
      const reason = `the worker was restarted with the runtime ${runtime.name}, it ran with ${entry.runtime}`;
      return { kind: "lost", reason, idempotent: false };
    }
    const started = { kind: "started", action, startedAt, timeoutMs, adopted: true } as const;
    observer.action({ ...started, runtime: runtime.name, ...defined({ machine }) });
    const redact = await this.#redactor(entry, fields, cancel);
    const output = new ActionOutput({ action, fields, redact, clock, log, observer });
    const adoption = await runtime.adopt(
      {
        action: entry.action,
        ...defined({ handle }),
        ...(damage === undefined ? {} : { damaged: true }),
        connected,
        startedAt,
        clockSetMs: clockSetSince(entry, clock.now()),
        timeoutMs,
        ...output.terms,
      },
      cancel,
    );
    if (adoption.kind !== "ended") return adoption;
    const { ended } = adoption;
    return { kind: "ended", ended: { ...ended, outcome: output.complete(ended.outcome) } };
  }

  /** An image of another vendor may print the connection that the earlier worker gave it. */
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
      this.#options.recording.log.warn(facts, "output of an adopted action withheld");
      return withheld;
    }
  }
}

/** How far the wall clock was set since an action's start; 0 if the host rebooted, or its boot time is not known. */
function clockSetSince({ startedAt, startedBootTime }: JournalEntry, nowMs: number): number {
  const tookMs = msBetween(parseBootTime(startedBootTime), bootTime());
  return tookMs === undefined ? 0 : nowMs - Date.parse(startedAt) - tookMs;
}
