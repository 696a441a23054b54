import type { LastWrite } from "../../../shared/bmc/operations/access.ts";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { ProviderName } from "../../../shared/contract/vocabulary.ts";
import type { Redactor } from "../../../shared/secret-forms.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { type Action, ActionFailure, type ActionReport } from "../action.ts";
import type { InputFields } from "../input/input.ts";
import type { ActionInput } from "../input/read-input.ts";
import { ActionClients, type ActionClientsOptions } from "./action-clients.ts";

export interface AttemptOptions<Fields extends InputFields> {
  readonly action: Action<Fields>;
  readonly input: ActionInput<Fields>;
  readonly clients: Omit<ActionClientsOptions, "nameOption">;
  readonly redact: Redactor;
  readonly signal: AbortSignal;
}

/** How long before the timeout to stop waiting for a busy BMC, so that the failure can say that it is busy. */
const BUSY_MARGIN_MS = 10_000;

/** The result of one attempt of an action. */
export interface Attempt {
  readonly report: Partial<ActionReport> | undefined;
  /** Undefined if the attempt succeeded. */
  readonly error: BmcError | undefined;
  /** The clients of the attempt, which are closed. */
  readonly clients: ActionClients;
}

/** Runs an action once, for at most `leftMs` of its timeout. Never rejects. Sessions are closed when it resolves. */
export async function attemptOnce<Fields extends InputFields>(
  { action, input, redact, signal, ...options }: AttemptOptions<Fields>,
  leftMs: number,
): Promise<Attempt> {
  const { own, common, connection, nameInput, nameOption } = input;
  const { clock, log } = options.clients;
  const busyMs = Math.max(0, leftMs - Math.min(BUSY_MARGIN_MS, leftMs / 10));
  const clients = new ActionClients(connection, { ...options.clients, nameOption, busyMs });
  let report: Partial<ActionReport> | undefined;
  let soFar: ActionReport | undefined;
  let error: BmcError | undefined;
  try {
    const { providers, tls } = connection;
    const clientFor = (provider: ProviderName) => clients.clientFor(provider);
    const progress = (noted: ActionReport) => {
      soFar = noted;
    };
    const ways = { bmc: clients.bmc, providers, tlsFallback: tls.fallback, clientFor };
    const context = { ...ways, input: own, dryRun: common.dryRun, log, redact, nameInput, progress };
    const run = (bounded: AbortSignal) => action.run({ ...context, signal: bounded });
    report = await withTimeout(leftMs, signal, run, clock);
  } catch (thrown) {
    const hasReport = thrown instanceof ActionFailure;
    // A report already says what was done.
    const sent = hasReport || soFar ? "" : describeWrite(clients.lastWrite, clock);
    const limit = `${common.timeout / 1_000} s (${nameInput("TIMEOUT")})`;
    const failure = describeFailure(thrown, signal, { leftMs, limit, sent });
    report = hasReport ? thrown.report : soFar;
    error = hasReport || !soFar ? failure : cutShort(failure, soFar);
  } finally {
    await clients.close();
  }
  return { report, error, clients };
}

function describeFailure(
  thrown: unknown,
  signal: AbortSignal,
  { leftMs, limit, sent }: { readonly leftMs: number; readonly limit: string; readonly sent: string },
): BmcError {
  if (signal.aborted) {
    const stopped = BmcError.from(signal.reason);
    return sent === "" ? stopped : new BmcError(stopped.class, stopped.message + sent, { cause: stopped });
  }
  const error = BmcError.from(thrown);
  const reached = error.cause instanceof TimeoutReached && error.cause.afterMs === leftMs;
  return reached ? new BmcError("timeout", `not finished within ${limit}${sent}`, { cause: error }) : error;
}

/** Describes what was sent, because a stop does not undo it. */
function describeWrite(last: LastWrite | undefined, clock: Clock): string {
  if (!last) return "";
  if (!last.accepted) return "; a change was being sent, and the BMC may carry it out";
  const agoMs = clock.monotonicMs() - last.atMs;
  return `; a change was sent ${(agoMs / 1_000).toFixed(1)} s before, and the BMC may still carry it out`;
}

function cutShort(failure: BmcError, { summary }: ActionReport): BmcError {
  if (failure.message.includes(summary)) return failure;
  const { uncertain } = failure;
  return new BmcError(failure.class, `${failure.message}: ${summary}`, { cause: failure, uncertain });
}
