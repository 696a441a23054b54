import { logOutage } from "../../../shared/log-outage.ts";
import { type Redactor, redactor } from "../../../shared/secret-forms.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Outcome } from "../action/action.ts";
import { bootTime, msBetween, parseBootTime } from "../action/boot-time.ts";
import { isUnreported, type JournalEntry } from "../action/entry.ts";
import { failedAction } from "../ports/outcome.ts";
import type { Adoption } from "../ports/runtime.ts";
import { ActionOutput } from "./action-output.ts";
import type { ActionRun } from "./action-run.ts";
import type { RunServices, StopSignals } from "./services.ts";
import { checkWorkflow, type WorkflowCheck } from "./workflow-check.ts";

interface AdoptionTerms {
  /** The problem of a damaged journal entry. The entry may be built from the server's data. */
  readonly damage?: string | undefined;
  /** The server has not served the action to this worker, and an earlier leader may have reported its end. */
  readonly isUnasked?: boolean | undefined;
}

interface Adopting extends AdoptionTerms {
  readonly services: RunServices;
  readonly run: ActionRun;
}

const READ_SECRETS_MS = 15_000;
const WITHHELD = "[withheld: the machine's credentials cannot be read, so they cannot be redacted]";

const withheldLines = { take: () => WITHHELD, gap: () => undefined };
const withheld: Redactor = Object.assign(() => WITHHELD, {
  lines: () => withheldLines,
  joined: (count: number) => Array.from({ length: count }, () => withheldLines),
});

const RETRY_PAUSE_MS = 5_000;
/** An action that cannot be adopted has certainly ended this long after its timeout. */
const STOP_MS = 30_000;

/** Continues an action of an earlier worker from its recorded step. Never rejects. */
export async function adopt(
  services: RunServices,
  run: ActionRun,
  { stop, cancel }: StopSignals,
  terms: AdoptionTerms,
): Promise<Outcome | undefined> {
  const { clock, log, machines, queue } = services;
  const { entry } = run;
  const adopting = { services, run, ...terms };
  let wasFree = false;
  try {
    if (isUnreported(entry)) return await reportPending(adopting, { stop, cancel });
    const inTurn = () => {
      wasFree = true;
      return adoptUntilOver(adopting, { stop, cancel });
    };
    const { image, workflowId } = entry.action;
    const limits = machines.limitsOf(entry.machine, image);
    const purpose = { actionKey: entry.key, workflowId, limits, isRunning: true };
    const outcome = await queue.enqueue(entry, stop, inTurn, purpose);
    // A Job of another action uses the BMC. The server serves the action again.
    if (!wasFree && !stop.aborted) await returnToServer(adopting);
    return outcome;
  } catch (thrown) {
    // The server serves the action again.
    observeReturn(adopting);
    if (stop.aborted) return undefined;
    const facts = { ...run.fields, error: textOf(thrown) };
    log.error(facts, "action adoption failed, retrying when served");
    await clock.sleep(RETRY_PAUSE_MS, stop).catch(() => undefined);
    return undefined;
  }
}

async function reportPending({ services, run }: Adopting, { stop, cancel }: StopSignals): Promise<undefined> {
  const { log, sweep, queue } = services;
  const { entry, fields } = run;
  log.info(
    { ...fields, ...("end" in entry && { state: entry.end.state }) },
    "report of an earlier run pending",
  );
  // The hook may still run: the machine is free only after the orphan sweep.
  const free = queue.enqueue(entry, stop, () => sweep.done, { actionKey: entry.key });
  // A sweep removes the container, and marks the Job for the next leader.
  await run.tell(async () => sweep.again(), cancel);
  await free;
  return undefined;
}

/** Holds the machine's lock while the action may still run. */
async function adoptUntilOver(
  adopting: Adopting,
  { stop, cancel }: StopSignals,
): Promise<Outcome | undefined> {
  const { clock, log } = adopting.services;
  const { entry, fields } = adopting.run;
  const overMs = clock.monotonicMs() + entry.timeoutMs + STOP_MS;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await adoptOnce(adopting, cancel);
    } catch (thrown) {
      if (stop.aborted || clock.monotonicMs() >= overMs) throw thrown;
      const facts = { ...fields, error: textOf(thrown) };
      logOutage(log, attempt === 1, facts, "action adoption failed, retrying");
      await clock.sleep(RETRY_PAUSE_MS, stop);
    }
  }
}

async function adoptOnce(adopting: Adopting, stopNow: AbortSignal): Promise<Outcome | undefined> {
  const { services, run, damage, isUnasked } = adopting;
  const { clock, log, machines, runtime } = services;
  const { entry, fields } = run;
  const check = checkOf(adopting, stopNow);
  const adoption = await follow(adopting, check.cancel).finally(check.end);
  switch (adoption.kind) {
    case "ended":
      if (entry.connected) machines.learnHint(entry.machine, adoption.ended.outcome.result?.hint);
      return run.conclude(adoption.ended, check.cancel);
    case "not-launched":
      log.info(fields, "action of an earlier run not launched: server serves it again");
      await returnToServer(adopting);
      return undefined;
    case "lost": {
      const why = damage === undefined ? "" : `the action's journal entry ${damage}; `;
      const facts = { ...fields, runtime: runtime.name, reason: `${why}${adoption.reason}` };
      if (adoption.idempotent) {
        log.warn(facts, "idempotent action of an earlier run lost: server serves it again");
        await returnToServer(adopting);
        return undefined;
      }
      log.warn(facts, "non-idempotent action of an earlier run lost: not run again");
      const reason = `${facts.reason}; it may have been carried out and is not idempotent, so it is not run again`;
      const lost = failedAction("internal", reason, run.startedAt, new Date(clock.now()));
      if (!isUnasked) return run.conclude(lost, check.cancel);
      await run.withhold(lost);
      observeReturn(adopting);
      return undefined;
    }
    default:
      return adoption satisfies never;
  }
}

function checkOf({ services, run, isUnasked }: Adopting, cancel: AbortSignal): WorkflowCheck {
  // A RUNNING report would replace an end that an earlier leader reported.
  if (isUnasked) return { cancel, end: () => undefined };
  return checkWorkflow({ ...services, source: run.source }, run.running, cancel);
}

async function returnToServer(adopting: Adopting): Promise<void> {
  await adopting.run.forget();
  observeReturn(adopting);
}

function observeReturn({ services, run }: Adopting): void {
  services.observer.action({ kind: "returned", ...run.seen });
}

/** Finds what an earlier worker launched and follows it to its end. */
async function follow({ services, run, damage }: Adopting, cancel: AbortSignal): Promise<Adoption> {
  const { clock, log, observer, runtime } = services;
  const { entry, fields, startedAt } = run;
  const { connected, machine, timeoutMs } = entry;
  const { action } = run.seen;
  const handle = entry.phase === "launched" ? entry.handle : undefined;
  if (entry.runtime !== runtime.name) {
    if (connected && !handle) return { kind: "not-launched" };
    const reason = `the worker was restarted with the runtime ${runtime.name}, it ran with ${entry.runtime}`;
    return { kind: "lost", reason, idempotent: false };
  }
  const started = { kind: "started", action, startedAt, timeoutMs, adopted: true } as const;
  observer.action({ ...started, runtime: runtime.name, machine });
  const redact = await redactorFor({ services, run }, cancel);
  const output = new ActionOutput({ action, fields, redact, clock, log, observer });
  const adoption = await runtime.adopt(
    {
      action: entry.action,
      handle,
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

/**
 * Returns the redactor of the action's output. An image of another vendor may print the connection that the earlier worker
 * gave it.
 */
async function redactorFor({ services, run }: Adopting, cancel: AbortSignal): Promise<Redactor> {
  const { connected, machine } = run.entry;
  if (!connected) return redactor({});
  if (machine === undefined) return withheld;
  try {
    const signal = AbortSignal.any([cancel, AbortSignal.timeout(READ_SECRETS_MS)]);
    return await services.machines.redactorOf(machine, signal);
  } catch (thrown) {
    const facts = { ...run.fields, error: textOf(thrown) };
    services.log.warn(facts, "output of an adopted action withheld");
    return withheld;
  }
}

/** How far the wall clock was set since an action's start; 0 if the host rebooted or the boot time is unknown. */
function clockSetSince({ startedAt, startedBootTime }: JournalEntry, nowMs: number): number {
  const tookMs = msBetween(parseBootTime(startedBootTime), bootTime());
  return tookMs === undefined ? 0 : nowMs - Date.parse(startedAt) - tookMs;
}
