import { BmcClient } from "../../shared/bmc/client.ts";
import { BmcError } from "../../shared/bmc/errors.ts";
import { type ActionResult, oneLine } from "../../shared/contract/result.ts";
import type { Logger } from "../../shared/logger.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import type { Action, ActionReport } from "./action.ts";
import type { InputFields } from "./input.ts";
import type { ActionInput } from "./read-input.ts";

/** Runs an action against its BMC and says how it ended. Never rejects; the session is closed when it resolves. */
export async function runAction<Fields extends InputFields>(
  action: Action<Fields>,
  { own, common, connection }: ActionInput<Fields>,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<ActionResult> {
  const startedMs = performance.now();
  const bmc = new BmcClient(connection, { log });
  let report: ActionReport | undefined;
  let error: BmcError | undefined;
  try {
    report = await withTimeout(common.timeout, signal, (bounded) =>
      action.run({ bmc, input: own, dryRun: common.dryRun, signal: bounded, log }),
    );
  } catch (thrown) {
    error = describeFailure(thrown, common.timeout, signal);
  } finally {
    await bmc.close();
  }
  const machine = connection.machine;
  return {
    action: action.name,
    ...(machine === undefined ? {} : { machine }),
    ok: error === undefined,
    ...(error === undefined ? {} : { class: error.class }),
    message: oneLine(error?.message ?? `${report?.summary}${bmc.provider ? ` via ${bmc.provider}` : ""}`),
    ...(bmc.provider === undefined ? {} : { provider: bmc.provider }),
    ...(report?.before === undefined ? {} : { before: report.before }),
    ...(report?.after === undefined ? {} : { after: report.after }),
    ...(report?.changed === undefined ? {} : { changed: report.changed }),
    durationMs: Math.round(performance.now() - startedMs),
    roundTrips: bmc.roundTrips,
    ...(report?.data === undefined ? {} : { data: report.data }),
    ...(bmc.hint === undefined ? {} : { hint: bmc.hint }),
  };
}

function describeFailure(thrown: unknown, timeoutMs: number, signal: AbortSignal): BmcError {
  if (signal.aborted) return BmcError.from(signal.reason);
  const error = BmcError.from(thrown);
  const reached = error.cause instanceof TimeoutReached && error.cause.afterMs === timeoutMs;
  return reached
    ? new BmcError("timeout", `not finished within ${timeoutMs / 1_000} s (TIMEOUT)`, { cause: error })
    : error;
}
