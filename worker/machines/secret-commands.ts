import { signalGroup } from "../../shared/child-process/process-group.ts";
import { ActionSlots, MachineLocks } from "../core/turns/turns.ts";
import { type Environment, runSecretCommand, type SecretCommand } from "./run-secret-command.ts";
import { SharedRun } from "./shared-run.ts";

/** So that a fleet that starts at once does not overload a vault. */
const MAX_CONCURRENT = 8;

/**
 * Runs commands that print secrets, a few at a time. Callers that wait for the same command share one run. A run that has
 * started is not shared: what it printed may be out of date.
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
