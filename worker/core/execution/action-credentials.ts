import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { ActionConnection, Connection } from "../../../shared/contract/connection.ts";
import { LONGEST_TIMER_MS } from "../../../shared/deadline.ts";
import { defined } from "../../../shared/defined.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import type { Redactor } from "../../../shared/secret-forms.ts";
import type { AuthGate } from "../../machines/auth-gate.ts";
import { connectionRedactor } from "../../machines/connection-redactor.ts";
import type { ConnectionReading } from "../../machines/inventory.ts";
import type { SecretCommands } from "../../machines/secret-commands.ts";
import type { Outcome } from "../action/action.ts";
import type { LaunchRequest, Runtime } from "../runtime/runtime.ts";
import type { AllowedTarget } from "./executor-options.ts";
import type { LearnedHints } from "./learned-hints.ts";

export interface CredentialsOptions {
  readonly runtime: Pick<Runtime, "secretNamespace">;
  readonly authGate: AuthGate;
  readonly secretCommands: SecretCommands;
  readonly hints: LearnedHints;
}

interface ReadingTerms
  extends Pick<ActionConnection, "secretInputs">,
    Pick<ConnectionReading, "whilePaused"> {
  readonly timeoutMs: number;
}

/** What one launch gets, with the hint that earlier actions learned. */
export interface LaunchCredentials extends Pick<LaunchRequest, "connection" | "mounted"> {
  /** Redacts the secrets of the connection. */
  readonly redact: Redactor;
  /** Remembers whether the BMC refused the credentials. */
  readonly learn: (outcome: Outcome) => void;
}

/**
 * Reads the credentials of a launch, within the action's time. Throws a `BmcError`, of class `auth` if the BMC has refused
 * them before.
 */
export async function readCredentials(
  options: CredentialsOptions,
  target: AllowedTarget,
  { timeoutMs, secretInputs, ...terms }: ReadingTerms,
  cancel: AbortSignal,
): Promise<LaunchCredentials> {
  const { authGate, hints, runtime } = options;
  const { machine, lockKey } = target;
  const mounted =
    runtime.secretNamespace === undefined ? undefined : target.mounted?.(runtime.secretNamespace);
  const connection = mounted ? undefined : await connect(options, target, { timeoutMs, ...terms }, cancel);
  const offer = machine && lockKey && connection ? { machine, lockKey, connection } : undefined;
  const refusal = offer && authGate.refusal(offer);
  if (refusal !== undefined) throw new BmcError("auth", refusal);
  const entry = connection ?? mounted?.document;
  const hint = machine === undefined || !entry ? undefined : hints.find(machine, entry);
  return {
    ...defined({
      connection: connection && { ...connection, ...defined({ hint, secretInputs }) },
      mounted: mounted && { ...mounted, document: { ...mounted.document, ...defined({ hint }) } },
    }),
    redact: connectionRedactor(connection, secretInputs),
    learn: (outcome) => offer && authGate.learn(offer, outcome),
  };
}

async function connect(
  { secretCommands: commands }: CredentialsOptions,
  target: AllowedTarget,
  { timeoutMs, ...terms }: Omit<ReadingTerms, "secretInputs">,
  cancel: AbortSignal,
): Promise<Connection | undefined> {
  const deadline = AbortSignal.timeout(Math.min(timeoutMs, LONGEST_TIMER_MS));
  try {
    return await target.connect?.({ ...terms, commands, signal: AbortSignal.any([cancel, deadline]) });
  } catch (thrown) {
    if (cancel.aborted) throw new BmcError("cancelled", "cancelled by the worker before it was launched");
    if (!deadline.aborted) throw thrown;
    throw new BmcError("timeout", `its credentials were not read within its ${formatSeconds(timeoutMs)}`);
  }
}
