import { changedLogger } from "../../actions/harness/result/changed-logger.ts";
import { createLineLogger } from "../../actions/harness/result/logger.ts";
import { BmcClient } from "../../shared/bmc/client.ts";
import { type Clock, systemClock } from "../../shared/clock.ts";
import type { BmcError } from "../../shared/contract/bmc-error.ts";
import type { Connection } from "../../shared/contract/connection.ts";
import type { DesiredState } from "../../shared/contract/desired-state.ts";
import type { ErrorClass } from "../../shared/contract/error-class.ts";
import { EXIT_DRIFT, EXIT_OK, exitCodeOf, type StopSignal } from "../../shared/contract/exit-code.ts";
import { inventoryLine } from "../../shared/contract/name-option.ts";
import type { SessionProvider } from "../../shared/contract/vocabulary.ts";
import { defined } from "../../shared/defined.ts";
import { type ProgressLines, withProgress } from "../../shared/progress-lines.ts";
import { redactor } from "../../shared/secret-forms.ts";
import type { LimitedStart } from "../../worker/core/queue/start-limits.ts";
import { compare, withoutSecrets } from "../../worker/features/drift/compare.ts";
import { UPDATE_TIMEOUT_MS } from "../../worker/features/drift/next-correction.ts";
import { readMachine } from "../../worker/features/drift/read-machine.ts";
import type { Difference, Setting } from "../../worker/features/shared/drift-seen.ts";
import { type Correction, confirmed, correct } from "./correct.ts";

/** The default timeout of an action. */
const MACHINE_TIMEOUT_MS = 600_000;

/** A machine compared with its desired state. */
export interface MachineDrift {
  readonly machine: string;
  readonly provider?: SessionProvider;
  /** The differences, without settings that could not be read because of an error. */
  readonly differences: readonly (Difference & { readonly correction?: Correction })[];
  /** Whether the machine is out of service. Nothing was read then, and the error says why. */
  readonly paused?: true;
  /** The first error. */
  readonly error?: { readonly class: ErrorClass; readonly message: string };
}

export interface CheckOptions {
  readonly enforce: boolean;
  readonly clock?: Clock;
  /** Receives warnings as lines of JSON. */
  readonly onLog: (line: string) => void;
  readonly lines: ProgressLines;
  /** Waits until the inventory's limits let an action of this name start at the machine. */
  readonly limited: (action: string, signal: AbortSignal) => Promise<LimitedStart>;
}

/** Reads and compares one machine and, with `enforce`, corrects it. A machine that cannot be read is also a result. */
export async function checkMachine(
  machine: string,
  connection: Connection,
  desired: DesiredState,
  { enforce, clock = systemClock, onLog, lines, limited }: CheckOptions,
  stop: AbortSignal,
): Promise<MachineDrift> {
  const updates = Object.values(desired.firmware ?? {}).filter((wanted) => typeof wanted === "object");
  const limitMs = MACHINE_TIMEOUT_MS + (enforce ? updates.length * UPDATE_TIMEOUT_MS : 0);
  const signal = AbortSignal.any([stop, AbortSignal.timeout(limitMs)]);
  // BMCs quote what they refuse.
  const redact = redactor({ username: connection.username, connection });
  const log = changedLogger(
    withProgress(lines, createLineLogger("warn", { machine }, onLog), () => machine),
    redact,
  );
  const onSetting = (setting: Setting) => lines.show(machine, { text: `correcting ${setting}` });
  const bmc = new BmcClient(connection, { clock, log, nameOption: inventoryLine });
  try {
    const { observed, error } = await readMachine(bmc, desired, signal);
    const differences = compare(desired, observed, connection.bootMode);
    const facts = () => defined({ provider: bmc.provider, error: error && failureOf(error, redact) });
    if (!enforce || error || !differences.some(({ state }) => state === "different")) {
      return { machine, ...facts(), differences: differences.map((one) => redacted(one, redact)) };
    }
    const corrections = await correct(bmc, desired, differences, { signal, onSetting, limited });
    lines.show(machine, { text: "reading again" });
    const again = await readMachine(bmc, desired, signal);
    const found = compare(desired, again.observed, connection.bootMode);
    return {
      machine,
      ...facts(),
      ...defined({ error: again.error && failureOf(again.error, redact) }),
      differences: differences.map((one) => {
        const now = found.find(({ field }) => field === one.field);
        const correction = corrections.get(one.field);
        if (one.state !== "different" || !correction) return redacted(now ?? one, redact);
        return redacted({ ...one, correction: confirmed(correction, now) }, redact);
      }),
    };
  } finally {
    await bmc.close();
  }
}

/** Returns the result for a machine that could not be read. */
export function failedMachine(machine: string, error: BmcError): MachineDrift {
  return { machine, differences: [], error: failureOf(error, (text) => text) };
}

function failureOf(error: BmcError, redact: (text: string) => string) {
  return { class: error.class, message: redact(error.message) };
}

function redacted(one: MachineDrift["differences"][number], redact: (text: string) => string) {
  const { correction } = one;
  return {
    ...withoutSecrets(one, redact),
    ...defined({ correction: correction && { ...correction, message: redact(correction.message) } }),
  };
}

/**
 * Returns the exit code for the results. Errors outweigh drift, whatever their number. `by` is the signal that cancelled the
 * command.
 */
export function exitCodeFor(results: readonly MachineDrift[], by: StopSignal): number {
  const classes = results.flatMap(({ differences, error }) => [
    ...(error ? [error.class] : []),
    ...differences.flatMap(({ correction }) => correction?.class ?? []),
  ]);
  if (classes.length > 0) return Math.max(...classes.map((one) => exitCodeOf(one, by)));
  return results.some(hasDrift) ? EXIT_DRIFT : EXIT_OK;
}

/** Whether a difference was not corrected. */
export function hasDrift({ differences }: MachineDrift): boolean {
  return differences.some(
    ({ state, correction }) =>
      state === "different" && correction?.state !== "corrected" && correction?.state !== "pending",
  );
}
