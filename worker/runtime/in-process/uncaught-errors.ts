import { AsyncLocalStorage } from "node:async_hooks";

type Taker = (thrown: unknown) => void;

/**
 * Assigns uncaught errors and unhandled rejections to the run that caused them. Others end the process, as in Node
 * without a handler.
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
    // Thrown here, it would end the process with another exit code.
    process.nextTick(() => {
      throw thrown;
    });
  };

  constructor() {
    process.on("uncaughtException", this.#onStray);
    process.on("unhandledRejection", this.#onStray);
  }

  /** Runs `work`. What it starts belongs to this run, even after its end. */
  run<T>(take: Taker, work: () => T): T {
    return this.#runs.run(take, work);
  }

  close(): void {
    process.off("uncaughtException", this.#onStray);
    process.off("unhandledRejection", this.#onStray);
  }
}
