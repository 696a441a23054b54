import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { ActionConnection, Connection } from "../../shared/contract/connection.ts";
import { LONGEST_TIMER_MS } from "../../shared/deadline.ts";
import { defined } from "../../shared/defined.ts";
import { formatSeconds } from "../../shared/duration.ts";
import { Secret } from "../../shared/secret.ts";
import { type Redactor, redactor } from "../../shared/secret-forms.ts";
import type { AccessReading, LaunchAccess } from "../core/ports/machines.ts";
import type { MountedConnection } from "../core/ports/runtime.ts";
import type { AuthGate } from "./auth-gate.ts";
import type { ConnectionReading, Inventory } from "./inventory.ts";
import { CLAIM_PREFIX } from "./inventory.ts";
import { LearnedHints } from "./learned-hints.ts";
import type { SecretCommands } from "./secret-commands.ts";

export interface LaunchCredentialsOptions {
  readonly authGate: AuthGate;
  readonly secretCommands: SecretCommands;
  /** The namespace whose Secrets the runtime can mount. */
  readonly secretNamespace?: string | undefined;
}

/** The location of the credentials for a launch. */
export interface CredentialsTarget {
  readonly machine?: string | undefined;
  readonly lockKey?: string | undefined;
  /** Reads the credentials. Rejects with a reason of one line, or with the signal's. */
  connect?(reading: ConnectionReading): Promise<Connection>;
  /** Replaces `connect` if the action can get the secrets without the worker. */
  mounted?(namespace: string): MountedConnection | undefined;
}

/** Reads the credentials for all launches of a worker, and remembers what earlier launches learned about them. */
export class LaunchCredentials {
  readonly #options: LaunchCredentialsOptions;
  readonly #hints = new LearnedHints();

  constructor(options: LaunchCredentialsOptions) {
    this.#options = options;
  }

  /** Reads the credentials of one launch, as `Target.readAccess` says. */
  async read(
    target: CredentialsTarget,
    { timeoutMs, secretInputs, whilePaused }: AccessReading,
    cancel: AbortSignal,
  ): Promise<LaunchAccess> {
    const { authGate, secretNamespace } = this.#options;
    const { machine, lockKey } = target;
    const mounted = secretNamespace === undefined ? undefined : target.mounted?.(secretNamespace);
    const connection = mounted ? undefined : await this.#connect(target, timeoutMs, whilePaused, cancel);
    const offer = machine && lockKey && connection ? { machine, lockKey, connection } : undefined;
    const refusal = offer && authGate.refusal(offer);
    if (refusal !== undefined) throw new BmcError("auth", refusal);
    const entry = connection ?? mounted?.document;
    const hint = machine === undefined || !entry ? undefined : this.#hints.find(machine, entry);
    return {
      ...defined({
        connection: connection && { ...connection, ...defined({ hint, secretInputs }) },
        mounted: mounted && { ...mounted, document: { ...mounted.document, ...defined({ hint }) } },
      }),
      redact: connectionRedactor(connection, secretInputs),
      learn: (outcome) => {
        if (offer) authGate.learn(offer, outcome);
        // Without a connection, a hint from the image does not come from the BMC.
        if (target.connect) this.learnHint(machine, outcome.result?.hint);
      },
    };
  }

  learnHint(machine: string | undefined, hint: unknown): void {
    this.#hints.learn(machine, hint);
  }

  /** Returns a function that redacts a machine's secrets. Rejects if they cannot be read, and with the signal's reason. */
  async redactorOf(inventory: Inventory, name: string, signal: AbortSignal): Promise<Redactor> {
    const { secretCommands: commands, secretNamespace } = this.#options;
    const machine = inventory.find(name);
    if (!machine) throw new Error(`the inventory no longer has ${name}`);
    // The worker cannot redact secrets that it never read; actions redact them themselves.
    if (secretNamespace !== undefined && inventory.mountedConnection?.(machine, secretNamespace)) {
      return redactor({});
    }
    // The action began before the machine was paused.
    const reading = { commands, whilePaused: true, signal } as const;
    return connectionRedactor(await inventory.resolveConnection(machine, reading));
  }

  async #connect(
    target: CredentialsTarget,
    timeoutMs: number,
    whilePaused: true | undefined,
    cancel: AbortSignal,
  ): Promise<Connection | undefined> {
    const { secretCommands: commands } = this.#options;
    const deadline = AbortSignal.timeout(Math.min(timeoutMs, LONGEST_TIMER_MS));
    const signal = AbortSignal.any([cancel, deadline]);
    try {
      return await target.connect?.({ whilePaused, commands, signal });
    } catch (thrown) {
      if (cancel.aborted) throw new BmcError("cancelled", "cancelled by the worker before it was launched");
      if (!deadline.aborted) throw thrown;
      throw new BmcError("timeout", `its credentials were not read within its ${formatSeconds(timeoutMs)}`);
    }
  }
}

/**
 * Redacts the secrets of a connection and of the inputs that came with it. For the host of a claim, it also redacts the
 * address, which the claim's tenant must not learn.
 */
export function connectionRedactor(
  connection: Connection | undefined,
  secretInputs?: ActionConnection["secretInputs"],
): Redactor {
  const secrets = { ...connection, secretInputs };
  if (!connection?.machine?.startsWith(CLAIM_PREFIX)) return redactor(secrets);
  return redactor({ ...secrets, address: new Secret(connection.host) });
}
