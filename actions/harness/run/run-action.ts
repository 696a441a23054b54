import type { BmcClient } from "../../../shared/bmc/client.ts";
import type { Provider } from "../../../shared/bmc/operations/provider.ts";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { type ActionResult, oneLine } from "../../../shared/contract/result.ts";
import { loginDoubt } from "../../../shared/contract/secret-doubt.ts";
import { defined } from "../../../shared/defined.ts";
import type { Logger } from "../../../shared/logger.ts";
import { redactor } from "../../../shared/secret-forms.ts";
import type { WireTap } from "../../../shared/tracing/wire-tap.ts";
import type { Action } from "../action.ts";
import type { InputFields } from "../input/input.ts";
import type { ActionInput } from "../input/read-input.ts";
import { changedLogger } from "../result/changed-logger.ts";
import type { ActionTrace } from "../trace/action-trace.ts";
import type { Attempt } from "./attempt.ts";
import { runAttempts } from "./attempts.ts";

/** Failures that depend on how this BMC behaves. */
const WORTH_RECORDING: readonly ErrorClass[] = ["protocol", "bmc", "verify", "internal"];

/** Runs an action against its BMC and returns its result. Never rejects. Sessions are closed when it resolves. */
export async function runAction<Fields extends InputFields>(
  action: Action<Fields>,
  input: ActionInput<Fields>,
  {
    signal,
    log: wholeLog,
    trace,
    provider,
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
  const { own, common, connection } = input;
  // BMCs quote what they refuse, even the header with the password.
  const redact = redactor({ username: connection.username, connection, own });
  const log = changedLogger(wholeLog, redact, common.logLevel);
  trace?.hide(redact, connection.username);
  const startedMs = clock.monotonicMs();
  const doubt = loginDoubt(connection);
  if (doubt !== undefined) log.warn({ reason: doubt }, "login may be wrong");
  const clients = { log, trace, provider, tap, clock };
  const { made, last, describe } = await runAttempts({ action, input, clients, redact, signal });
  const { error, report } = last;
  const machine = connection.machine;
  if (error && WORTH_RECORDING.includes(error.class)) {
    const target =
      machine === undefined ? "--bmc-host <host> --bmc-username <user>" : `${machine} --inventory <file>`;
    const command = `pbnj-worker record --action ${action.name} ${target}`;
    log.info({ command }, "record this BMC to report the failure");
  }
  const isRefused = error?.class === "auth" && error.refused !== "right";
  const remedy = isRefused && doubt !== undefined ? `; ${doubt}: remove it if that is a mistake` : "";
  const message = error ? `${error.message}${remedy}` : `${report?.summary}${viaOf(last.clients.bmc)}`;
  return {
    action: action.name,
    ...defined({ machine }),
    ok: error === undefined,
    ...defined({ class: error?.class, refused: error?.refused }),
    message: oneLine(redact(describe?.(message) ?? message)),
    ...defined({
      provider: last.clients.provider,
      before: stateBefore(made),
      after: report?.after,
      changed: changedBy(made, last),
    }),
    durationMs: Math.round(clock.monotonicMs() - startedMs),
    roundTrips: made.reduce((sum, attempt) => sum + attempt.clients.roundTrips, 0),
    ...defined({ data: report?.data, hint: last.clients.hint }),
  };
}

/**
 * Whether the machine has changed. A write that was sent and not refused counts, unless the action has found that it had no
 * effect.
 */
function changedBy(made: readonly Attempt[], last: Attempt): boolean | undefined {
  if (made.slice(0, -1).some(mayHaveChanged)) return true;
  return last.report?.changed ?? (last.error && mayHaveChanged(last) ? true : undefined);
}

function mayHaveChanged({ clients, report }: Attempt): boolean {
  return clients.lastWrite !== undefined || report?.changed === true;
}

/**
 * Returns the state that was read by the first attempt that read it, because a later attempt may have read it after a
 * change.
 */
function stateBefore(made: readonly Attempt[]): unknown {
  const first = made.find((attempt) => attempt.report?.before !== undefined || mayHaveChanged(attempt));
  return first?.report?.before;
}

function viaOf({ provider, note }: Pick<BmcClient, "provider" | "note">): string {
  if (!provider) return "";
  return ` via ${provider}${note === undefined ? "" : ` (${note})`}`;
}
