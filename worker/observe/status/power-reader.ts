import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { PowerState } from "../../../shared/contract/vocabulary.ts";
import { silentLogger } from "../../../shared/logger.ts";
import type { Action } from "../../action/action.ts";
import { LearnedHints } from "../../execution/learned-hints.ts";
import type { AuthGate, LoginAttempt } from "../../machines/auth-gate.ts";
import type { Inventory } from "../../machines/inventory.ts";
import type { SecretCommands } from "../../machines/secret-commands.ts";
import type { ActionLibrary } from "../../runtime/action-library.ts";
import { InProcessRuntime } from "../../runtime/in-process/in-process-runtime.ts";
import type { Locks } from "../../turns/machine-locks.ts";
import { keysOf } from "../../turns/turns.ts";

export interface PowerReaderOptions {
  readonly inventory: Inventory;
  readonly actions: ActionLibrary;
  /** Shared with the worker's actions, so that they take turns at a BMC and a rejected password is not tried again. */
  readonly locks: Locks;
  readonly authGate: AuthGate;
  readonly secretCommands: SecretCommands;
}

const READ = "power-status";
const TIMEOUT_MS = 60_000;
/** For logging out after a timeout. */
const STOP_GRACE_MS = 5_000;

/** Reads power states for the worker itself, with the action `power-status` inside this process. */
export class PowerReader {
  readonly #options: PowerReaderOptions;
  readonly #runtime: InProcessRuntime;
  readonly #hints = new LearnedHints();

  constructor(options: PowerReaderOptions) {
    this.#options = options;
    this.#runtime = new InProcessRuntime({
      actions: options.actions,
      refuse: async () => undefined,
      log: silentLogger,
      stopGraceMs: STOP_GRACE_MS,
    });
  }

  /**
   * Waits for the machine's lock. Rejects with a `BmcError`, of class `auth` if the BMC rejects the credentials or did so
   * before, and with the signal's reason.
   */
  async read(name: string, signal: AbortSignal): Promise<PowerState> {
    const { inventory, locks } = this.#options;
    const machine = inventory.find(name);
    if (!machine) throw new BmcError("usage", `the inventory does not have ${name}`);
    const held: (() => void)[] = [];
    try {
      for (const key of keysOf({ machine: name, lockKey: machine.lockKey })) {
        held.push(await locks.acquire(key, signal));
      }
      return await this.#read(name, machine.lockKey, signal);
    } finally {
      for (const release of held.toReversed()) release();
    }
  }

  async close(): Promise<void> {
    await this.#runtime.close();
  }

  async #read(name: string, lockKey: string, signal: AbortSignal): Promise<PowerState> {
    const { inventory, authGate, secretCommands } = this.#options;
    const machine = inventory.find(name);
    if (machine?.lockKey !== lockKey) throw new BmcError("usage", `${name} was given another BMC meanwhile`);
    const connection = await inventory.resolveConnection(machine, { commands: secretCommands, signal });
    const offer: LoginAttempt = { machine: name, lockKey, connection };
    const refusal = authGate.refusal(offer);
    if (refusal !== undefined) throw new BmcError("auth", refusal);
    const hint = this.#hints.find(name, connection);
    const { outcome } = await this.#runtime.run(
      {
        action: readAction(name),
        connection: hint === undefined ? connection : { ...connection, hint },
        timeoutMs: TIMEOUT_MS,
        onLog: () => undefined,
      },
      signal,
    );
    signal.throwIfAborted();
    authGate.learn(offer, outcome);
    if (!outcome.ok) throw new BmcError(outcome.class ?? "internal", outcome.message);
    this.#hints.learn(name, outcome.result?.hint);
    const state = PowerState.safeParse(outcome.result?.after);
    return state.success ? state.data : "unknown";
  }
}

function readAction(machine: string): Action {
  return {
    workflowId: `status/${machine}`,
    taskId: READ,
    agentId: READ,
    actionId: machine,
    name: READ,
    image: READ,
    timeoutMs: 0,
    command: [],
    volumes: [],
    environment: { TIMEOUT: `${TIMEOUT_MS}ms`, LOG_LEVEL: "error" },
  };
}
