import type { BmcClient } from "../../../shared/bmc/client.ts";
import type { LastWrite } from "../../../shared/bmc/operations/access.ts";
import type { Provider } from "../../../shared/bmc/operations/provider.ts";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { type ActionResult, oneLine } from "../../../shared/contract/result.ts";
import { loginDoubt } from "../../../shared/contract/secret-doubt.ts";
import type { ProviderName } from "../../../shared/contract/vocabulary.ts";
import { defined } from "../../../shared/defined.ts";
import type { Logger } from "../../../shared/logger.ts";
import { redactor } from "../../../shared/secret-forms.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import type { WireTap } from "../../../shared/tracing/wire-tap.ts";
import { type Action, ActionFailure, type ActionReport } from "../action.ts";
import type { InputFields } from "../input/input.ts";
import type { ActionInput } from "../input/read-input.ts";
import { changedLogger } from "../result/changed-logger.ts";
import type { ActionTrace } from "../trace/action-trace.ts";
import { ActionClients } from "./action-clients.ts";

/** Failures that are about how this BMC behaves. */
const WORTH_RECORDING: readonly ErrorClass[] = ["protocol", "bmc", "verify", "internal"];

/** Runs an action against its BMC and says how it ended. Never rejects; sessions are closed when it resolves. */
export async function runAction<Fields extends InputFields>(
  action: Action<Fields>,
  { own, common, connection, nameInput, nameOption }: ActionInput<Fields>,
  {
    signal,
    log: wholeLog,
    trace,
    provider: given,
    tap,
    clock = systemClock,
  }: {
    readonly signal: AbortSignal;
    readonly log: Logger;
    readonly trace?: ActionTrace | undefined;
    /** Replaces the connection's providers. */
    readonly provider?: Provider | undefined;
    readonly tap?: WireTap | undefined;
    readonly clock?: Clock | undefined;
  },
): Promise<ActionResult> {
  // BMCs quote what they refuse, down to the header with the password.
  const redact = redactor({ username: connection.username, connection, own });
  const log = changedLogger(wholeLog, redact, common.logLevel);
  trace?.hide(redact, connection.username);
  const startedMs = clock.monotonicMs();
  const clients = new ActionClients(connection, { log, nameOption, trace, provider: given, tap, clock });
  const { bmc } = clients;
  const doubt = loginDoubt(connection);
  if (doubt !== undefined) log.warn({ reason: doubt }, "login may be wrong");
  let report: Partial<ActionReport> | undefined;
  let soFar: ActionReport | undefined;
  let error: BmcError | undefined;
  try {
    const { providers, tls } = connection;
    const clientFor = (provider: ProviderName) => clients.clientFor(provider);
    const progress = (noted: ActionReport) => {
      soFar = noted;
    };
    const ways = { providers, tlsFallback: tls.fallback, clientFor };
    const context = { bmc, ...ways, input: own, dryRun: common.dryRun, log, redact, nameInput, progress };
    report = await withTimeout(
      common.timeout,
      signal,
      (bounded) => action.run({ ...context, signal: bounded }),
      clock,
    );
  } catch (thrown) {
    const hasReport = thrown instanceof ActionFailure;
    // A report says itself what was done.
    const sent = hasReport || soFar ? "" : describeWrite(clients.lastWrite, clock);
    const timeout = { ms: common.timeout, name: nameInput("TIMEOUT") };
    const failure = describeFailure(thrown, signal, timeout, sent);
    report = hasReport ? thrown.report : soFar;
    error = hasReport || !soFar ? failure : cutShort(failure, soFar);
  } finally {
    await clients.close();
  }
  const machine = connection.machine;
  if (error && WORTH_RECORDING.includes(error.class)) {
    const target =
      machine === undefined ? "--bmc-host <host> --bmc-username <user>" : `${machine} --inventory <file>`;
    const command = `pbnj-worker record --action ${action.name} ${target}`;
    log.info({ command }, "record this BMC to report the failure");
  }
  const isRefused = error?.class === "auth" && error.refused !== "right";
  const remedy = isRefused && doubt !== undefined ? `; ${doubt}: remove it if that is a mistake` : "";
  return {
    action: action.name,
    ...defined({ machine }),
    ok: error === undefined,
    ...defined({ class: error?.class, refused: error?.refused }),
    message: oneLine(redact(error ? `${error.message}${remedy}` : `${report?.summary}${viaOf(bmc)}`)),
    ...defined({
      provider: clients.provider,
      before: report?.before,
      after: report?.after,
      changed: report?.changed,
    }),
    durationMs: Math.round(clock.monotonicMs() - startedMs),
    roundTrips: clients.roundTrips,
    ...defined({ data: report?.data, hint: clients.hint }),
  };
}

function viaOf({ provider, note }: Pick<BmcClient, "provider" | "note">): string {
  if (!provider) return "";
  return ` via ${provider}${note === undefined ? "" : ` (${note})`}`;
}

function describeFailure(
  thrown: unknown,
  signal: AbortSignal,
  timeout: { readonly ms: number; readonly name: string },
  sent: string,
): BmcError {
  if (signal.aborted) {
    const stopped = BmcError.from(signal.reason);
    return sent === "" ? stopped : new BmcError(stopped.class, stopped.message + sent, { cause: stopped });
  }
  const error = BmcError.from(thrown);
  const reached = error.cause instanceof TimeoutReached && error.cause.afterMs === timeout.ms;
  return reached
    ? new BmcError("timeout", `not finished within ${timeout.ms / 1_000} s (${timeout.name})${sent}`, {
        cause: error,
      })
    : error;
}

/** A stop does not undo what was sent. */
function describeWrite(last: LastWrite | undefined, clock: Clock): string {
  if (!last) return "";
  if (!last.accepted) return "; a change was being sent, and the BMC may carry it out";
  const agoMs = clock.monotonicMs() - last.atMs;
  return `; a change was sent ${(agoMs / 1_000).toFixed(1)} s before, and the BMC may still carry it out`;
}

function cutShort(failure: BmcError, { summary }: ActionReport): BmcError {
  if (failure.message.includes(summary)) return failure;
  return new BmcError(failure.class, `${failure.message}: ${summary}`, { cause: failure });
}
