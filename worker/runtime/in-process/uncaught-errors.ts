import { AsyncLocalStorage } from "node:async_hooks";

/** Takes an error that nobody caught. */
type Taker = (thrown: unknown) => void;

/**
 * Errors that nobody caught, of a promise that nobody waits for or in a callback: Node ends the process for one. While
 * this watches, those that began in a run are that run's, and all others end the process as before.
 */
export class UncaughtErrors {
  readonly #runs = new AsyncLocalStorage<Taker>();
  readonly #onStray = (thrown: unknown) => {
    const take = this.#runs.getStore();
    if (take) {
      take(thrown);
      return;
    }
    this.close();
    // Thrown from here it would end the process with another exit code.
    process.nextTick(() => {
      throw thrown;
    });
  };

  constructor() {
    process.on("uncaughtException", this.#onStray);
    process.on("unhandledRejection", this.#onStray);
  }

  /** Runs `work`; whatever it begins stays its own, also what goes on after it has ended. */
  run<T>(take: Taker, work: () => T): T {
    return this.#runs.run(take, work);
  }

  close(): void {
    process.off("uncaughtException", this.#onStray);
    process.off("unhandledRejection", this.#onStray);
  }
}
