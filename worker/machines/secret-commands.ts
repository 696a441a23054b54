import { signalGroup } from "../../shared/child-process/process-group.ts";
import { ActionSlots } from "../turns/action-slots.ts";
import { MachineLocks } from "../turns/machine-locks.ts";
import { runSecretCommand } from "./run-secret-command.ts";
import { SharedRun } from "./shared-run.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A program that prints secrets, such as a vault's client. */
export interface SecretCommand {
  /** Program and arguments; no shell looks at them. */
  readonly argv: readonly [program: string, ...rest: readonly string[]];
  readonly timeoutMs: number;
  /** Variables of the worker that it gets beside the usual ones. */
  readonly environment: readonly string[];
}

/** A vault serves a fleet that starts at once in a short line, not all of it at a time. */
const MOST_AT_A_TIME = 8;

/**
 * Runs the commands that print secrets, so many at a time. Those who wait for the very same command get one run of
 * it together; one that runs already may have printed what is out of date, so it is not joined.
 */
export class SecretCommands {
  readonly #slots: ActionSlots;
  readonly #turns = new MachineLocks();
  readonly #waiting = new Map<string, SharedRun<string>>();
  /** Process groups. */
  readonly #running = new Set<number>();
  readonly #killRunning = () => {
    for (const groupId of this.#running) signalGroup(groupId, "SIGKILL");
  };

  constructor(mostAtATime = MOST_AT_A_TIME) {
    this.#slots = new ActionSlots(mostAtATime);
  }

  /**
   * What the command printed on stdout. Rejects with a `FileProblem` that says why in words for after its name, and
   * with the signal's reason once the signal aborts and the command's process group has ended.
   */
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
      return await runSecretCommand(command, env, signal, (groupId) => this.#watch(groupId));
    } finally {
      for (const release of held.toReversed()) release();
    }
  }

  /** A worker that exits in a hurry leaves no command behind. Gives back what ends the watch. */
  #watch(groupId: number): () => void {
    if (this.#running.size === 0) process.on("exit", this.#killRunning);
    this.#running.add(groupId);
    return () => {
      this.#running.delete(groupId);
      if (this.#running.size === 0) process.off("exit", this.#killRunning);
    };
  }
}
