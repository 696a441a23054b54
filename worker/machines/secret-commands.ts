import { signalGroup } from "../../shared/child-process/process-group.ts";
import { ActionSlots, MachineLocks } from "../core/queue/action-queue.ts";
import { type Environment, runSecretCommand, type SecretCommand } from "./run-secret-command.ts";

/** Work that several callers wait for. It is aborted when the last caller stops waiting. */
class SharedRun<T> {
  readonly #abort = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#result = work(this.#abort.signal);
    this.#result.catch(() => undefined);
  }

  get isOpen(): boolean {
    return !this.#abort.signal.aborted;
  }

  /**
   * Resolves to the result. Rejects with the signal's reason when it aborts; the last caller waits for the work to
   * end.
   */
  async join(signal: AbortSignal): Promise<T> {
    this.#waiting += 1;
    const left = Promise.withResolvers<never>();
    left.promise.catch(() => undefined);
    const leave = () => {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#abort.abort(signal.reason);
      else left.reject(signal.reason);
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([this.#result, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }
}

/** Limits the number of concurrent commands, so that a fleet that starts at once does not overload a vault. */
const MAX_CONCURRENT = 8;

/**
 * Runs commands that print secrets, a few at a time. Callers that wait for the same command share one run. A run that has
 * started is not shared, because its output may be out of date.
 */
export class SecretCommands {
  readonly #slots: ActionSlots;
  readonly #turns = new MachineLocks();
  readonly #waiting = new Map<string, SharedRun<string>>();
  readonly #runningGroups = new Set<number>();
  readonly #killRunning = () => {
    for (const groupId of this.#runningGroups) signalGroup(groupId, "SIGKILL");
  };

  constructor(maxConcurrent = MAX_CONCURRENT) {
    this.#slots = new ActionSlots(maxConcurrent);
  }

  run(command: SecretCommand, env: Environment, signal: AbortSignal): Promise<string> {
    const key = JSON.stringify(command);
    const waiting = this.#waiting.get(key);
    if (waiting?.isOpen) return waiting.join(signal);
    const shared = new SharedRun((given) => this.#inTurn(key, command, env, given));
    this.#waiting.set(key, shared);
    return shared.join(signal);
  }

  async #inTurn(key: string, command: SecretCommand, env: Environment, signal: AbortSignal): Promise<string> {
    const held: (() => void)[] = [];
    try {
      held.push(await this.#turns.acquire(key, signal));
      held.push(await this.#slots.acquire(signal));
      this.#waiting.delete(key);
      return await runSecretCommand(command, env, signal, (groupId) => this.#killAtExit(groupId));
    } finally {
      for (const release of held.toReversed()) release();
    }
  }

  /** Kills the command if the worker exits. Returns a function that undoes this. */
  #killAtExit(groupId: number): () => void {
    if (this.#runningGroups.size === 0) process.on("exit", this.#killRunning);
    this.#runningGroups.add(groupId);
    return () => {
      this.#runningGroups.delete(groupId);
      if (this.#runningGroups.size === 0) process.off("exit", this.#killRunning);
    };
  }
}
