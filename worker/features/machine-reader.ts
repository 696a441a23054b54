import { BmcClient } from "../../shared/bmc/client.ts";
import type { Clock } from "../../shared/clock.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { Connection } from "../../shared/contract/connection.ts";
import { EXIT_OK, exitCodeOf } from "../../shared/contract/exit-code.ts";
import { inventoryLine } from "../../shared/contract/name-option.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import { PowerState } from "../../shared/contract/vocabulary.ts";
import { defined } from "../../shared/defined.ts";
import { silentLogger } from "../../shared/logger.ts";
import type { Redactor } from "../../shared/secret-forms.ts";
import { UncaughtErrors } from "../../shared/uncaught-errors.ts";
import type { Action, Outcome } from "../core/action/action.ts";
import { type Locks, lockKeysOf } from "../core/queue/action-queue.ts";
import type { AuthGate, LoginAttempt } from "../machines/auth-gate.ts";
import type { Inventory } from "../machines/inventory.ts";
import { connectionRedactor } from "../machines/launch-credentials.ts";
import { LearnedHints } from "../machines/learned-hints.ts";
import type { SecretCommands } from "../machines/secret-commands.ts";
import type { ActionLibrary } from "../runtimes/action-library.ts";
import { InProcessRuntime } from "../runtimes/in-process/in-process-runtime.ts";

export interface MachineReaderOptions {
  readonly inventory: Inventory;
  readonly actions: ActionLibrary;
  /**
   * Shared with the worker's actions, so that only one client uses a BMC at a time and a rejected password is not tried
   * again.
   */
  readonly locks: Locks;
  readonly authGate: AuthGate;
  readonly secretCommands: SecretCommands;
  readonly clock?: Clock;
}

/** A read-only action and its time limit. */
interface Read {
  readonly name: "power-status" | "inventory";
  readonly timeoutMs: number;
}

interface ReadEnd {
  readonly result: ActionResult | undefined;
  readonly redact: Redactor;
}

const POWER: Read = { name: "power-status", timeoutMs: 60_000 };
/** A slow BMC of a machine with 60 drives takes minutes. */
const HARDWARE: Read = { name: "inventory", timeoutMs: 300_000 };
/** Time for logging out after a timeout. */
const STOP_GRACE_MS = 5_000;

/** Reads machines for the worker itself, with actions that run inside this process. */
export class MachineReader {
  readonly #options: MachineReaderOptions;
  readonly #runtime: InProcessRuntime;
  readonly #uncaughtErrors = new UncaughtErrors();
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
   * Reads a machine's power. Waits for the machine's lock. Rejects with a `BmcError`, of class `auth` if the BMC rejects the
   * credentials now or has done so before, and with the signal's reason.
   */
  async getPower(name: string, signal: AbortSignal): Promise<PowerState> {
    const { result } = await this.#inTurn(
      name,
      (lockKey) => this.#read(name, lockKey, POWER, signal),
      signal,
    );
    const state = PowerState.safeParse(result?.after);
    return state.success ? state.data : "unknown";
  }

  /** Returns the result of `inventory` and a redactor of the machine's secrets. Rejects like `getPower`. */
  getHardware(name: string, signal: AbortSignal): Promise<ReadEnd> {
    return this.#inTurn(name, (lockKey) => this.#read(name, lockKey, HARDWARE, signal), signal);
  }

  /**
   * Calls `use` with a client of the machine's BMC and a redactor of the machine's secrets. An error that `use` returns also
   * counts for the credentials. Rejects like `getPower`.
   */
  useBmc<T extends { readonly error?: BmcError }>(
    name: string,
    use: (bmc: BmcClient, connection: Connection, redact: Redactor) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    return this.#inTurn(
      name,
      (lockKey) => this.#uncaughtErrors.isolate((own) => this.#use(name, lockKey, use, own), signal),
      signal,
    );
  }

  async close(): Promise<void> {
    await this.#runtime.close();
    this.#uncaughtErrors.close();
  }

  async #inTurn<T>(name: string, work: (lockKey: string) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { inventory, locks } = this.#options;
    const machine = inventory.find(name);
    if (!machine) throw new BmcError("usage", `the inventory does not have ${name}`);
    const held: (() => void)[] = [];
    try {
      for (const key of lockKeysOf({ machine: name, lockKey: machine.lockKey })) {
        held.push(await locks.acquire(key, signal));
      }
      return await work(machine.lockKey);
    } finally {
      for (const release of held.toReversed()) release();
    }
  }

  async #read(name: string, lockKey: string, read: Read, signal: AbortSignal): Promise<ReadEnd> {
    const { connection, hinted, attempt } = await this.#connect(name, lockKey, signal);
    const { outcome } = await this.#runtime.run(
      {
        action: readAction(name, read),
        connection: hinted,
        timeoutMs: read.timeoutMs,
        onLog: () => undefined,
      },
      signal,
    );
    signal.throwIfAborted();
    this.#options.authGate.learn(attempt, outcome);
    if (!outcome.ok) throw new BmcError(outcome.class ?? "internal", outcome.message);
    this.#hints.learn(name, outcome.result?.hint);
    return { result: outcome.result, redact: connectionRedactor(connection) };
  }

  async #use<T extends { readonly error?: BmcError }>(
    name: string,
    lockKey: string,
    use: (bmc: BmcClient, connection: Connection, redact: Redactor) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { hinted, connection, attempt } = await this.#connect(name, lockKey, signal);
    const { clock } = this.#options;
    const bmc = new BmcClient(hinted, { nameOption: inventoryLine, ...(clock && { clock }) });
    const startedAt = new Date();
    let error: BmcError | undefined;
    try {
      const used = await use(bmc, connection, connectionRedactor(connection));
      error = used.error;
      return used;
    } catch (thrown) {
      error = BmcError.from(thrown);
      throw error;
    } finally {
      await bmc.close();
      if (!signal.aborted) this.#options.authGate.learn(attempt, outcomeOf(bmc, error, startedAt));
      this.#hints.learn(name, bmc.hint);
    }
  }

  async #connect(name: string, lockKey: string, signal: AbortSignal) {
    const { inventory, authGate, secretCommands } = this.#options;
    const machine = inventory.find(name);
    if (machine?.lockKey !== lockKey) throw new BmcError("usage", `${name} has another BMC now`);
    const connection = await inventory.resolveConnection(machine, { commands: secretCommands, signal });
    const attempt: LoginAttempt = { machine: name, lockKey, connection };
    const refusal = authGate.refusal(attempt);
    if (refusal !== undefined) throw new BmcError("auth", refusal);
    const hint = this.#hints.find(name, connection);
    return { connection, attempt, hinted: hint === undefined ? connection : { ...connection, hint } };
  }
}

/** The outcome that an action would have reported. */
function outcomeOf(bmc: BmcClient, error: BmcError | undefined, startedAt: Date): Outcome {
  const { roundTrips, provider } = bmc;
  const end = { ok: error === undefined, message: "", class: error?.class };
  return {
    ...end,
    exitCode: error ? exitCodeOf(error.class) : EXIT_OK,
    startedAt,
    stoppedAt: new Date(),
    timedOut: false,
    killed: false,
    result: {
      ...end,
      action: "drift",
      changed: false,
      durationMs: 0,
      roundTrips,
      ...defined({ provider, refused: error?.refused }),
    },
  };
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
