import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import { PowerState } from "../../shared/contract/vocabulary.ts";
import { silentLogger } from "../../shared/logger.ts";
import type { Redactor } from "../../shared/secret-forms.ts";
import type { Action } from "../action/action.ts";
import { LearnedHints } from "../execution/learned-hints.ts";
import type { AuthGate, LoginAttempt } from "../machines/auth-gate.ts";
import { connectionRedactor } from "../machines/connection-redactor.ts";
import type { Inventory } from "../machines/inventory.ts";
import type { SecretCommands } from "../machines/secret-commands.ts";
import type { ActionLibrary } from "../runtime/action-library.ts";
import { InProcessRuntime } from "../runtime/in-process/in-process-runtime.ts";
import type { Locks } from "../turns/machine-locks.ts";
import { keysOf } from "../turns/turns.ts";

export interface MachineReaderOptions {
  readonly inventory: Inventory;
  readonly actions: ActionLibrary;
  /** Shared with the worker's actions, so that they take turns at a BMC and a rejected password is not tried again. */
  readonly locks: Locks;
  readonly authGate: AuthGate;
  readonly secretCommands: SecretCommands;
}

/** An action that only reads, and its time limit. */
interface Read {
  readonly name: "power-status" | "inventory";
  readonly timeoutMs: number;
}

interface ReadEnd {
  readonly result: ActionResult | undefined;
  readonly redact: Redactor;
}

const POWER: Read = { name: "power-status", timeoutMs: 60_000 };
/** A slow BMC of a machine with 60 drives needs minutes. */
const HARDWARE: Read = { name: "inventory", timeoutMs: 300_000 };
/** For logging out after a timeout. */
const STOP_GRACE_MS = 5_000;

/** Reads machines for the worker itself, with actions inside this process. */
export class MachineReader {
  readonly #options: MachineReaderOptions;
  readonly #runtime: InProcessRuntime;
  readonly #hints = new LearnedHints();

  constructor(options: MachineReaderOptions) {
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
  async readPower(name: string, signal: AbortSignal): Promise<PowerState> {
    const { result } = await this.#inTurn(name, POWER, signal);
    const state = PowerState.safeParse(result?.after);
    return state.success ? state.data : "unknown";
  }

  /** The result of `inventory`, and what redacts the machine's secrets. As `readPower`. */
  readHardware(name: string, signal: AbortSignal): Promise<ReadEnd> {
    return this.#inTurn(name, HARDWARE, signal);
  }

  async close(): Promise<void> {
    await this.#runtime.close();
  }

  async #inTurn(name: string, read: Read, signal: AbortSignal): Promise<ReadEnd> {
    const { inventory, locks } = this.#options;
    const machine = inventory.find(name);
    if (!machine) throw new BmcError("usage", `the inventory does not have ${name}`);
    const held: (() => void)[] = [];
    try {
      for (const key of keysOf({ machine: name, lockKey: machine.lockKey })) {
        held.push(await locks.acquire(key, signal));
      }
      return await this.#read(name, machine.lockKey, read, signal);
    } finally {
      for (const release of held.toReversed()) release();
    }
  }

  async #read(name: string, lockKey: string, read: Read, signal: AbortSignal): Promise<ReadEnd> {
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
        action: readAction(name, read),
        connection: hint === undefined ? connection : { ...connection, hint },
        timeoutMs: read.timeoutMs,
        onLog: () => undefined,
      },
      signal,
    );
    signal.throwIfAborted();
    authGate.learn(offer, outcome);
    if (!outcome.ok) throw new BmcError(outcome.class ?? "internal", outcome.message);
    this.#hints.learn(name, outcome.result?.hint);
    return { result: outcome.result, redact: connectionRedactor(connection) };
  }
}

function readAction(machine: string, { name, timeoutMs }: Read): Action {
  return {
    workflowId: `status/${machine}`,
    taskId: name,
    agentId: name,
    actionId: machine,
    name,
    image: name,
    timeoutMs: 0,
    command: [],
    volumes: [],
    environment: { TIMEOUT: `${timeoutMs}ms`, LOG_LEVEL: "error" },
  };
}
