import { AsyncLocalStorage } from "node:async_hooks";

type Handler = (thrown: unknown) => void;

/**
 * Assigns uncaught errors and unhandled rejections to the run that caused them. Others end the process, as in Node
 * without a handler.
 */
export class UncaughtErrors {
  /** The process has one listener: with several, each would treat the others' errors as the program's own. */
  static readonly #runs = new AsyncLocalStorage<Handler>();
  static #open = 0;
  static readonly #onUncaught = (thrown: unknown) => {
    const take = UncaughtErrors.#runs.getStore();
    if (take) {
      take(thrown);
      return;
    }
    UncaughtErrors.#ignore();
    // An error thrown here would end the process with another exit code.
    process.nextTick(() => {
      throw thrown;
    });
  };
  #isOpen = true;

  constructor() {
    UncaughtErrors.#open += 1;
    if (UncaughtErrors.#open > 1) return;
    process.on("uncaughtException", UncaughtErrors.#onUncaught);
    process.on("unhandledRejection", UncaughtErrors.#onUncaught);
  }

  /** Runs `work`. Everything that it starts belongs to this run, even after it has ended. */
  run<T>(take: Handler, work: () => T): T {
    return UncaughtErrors.#runs.run(take, work);
  }

  /** Runs `work`. Rejects, and aborts its signal, also for an error that escapes it, such as one in a timer. */
  isolate<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const escaped = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const take = (thrown: unknown) => {
      reject(thrown);
      escaped.abort(thrown);
    };
    const isolated = async () => work(AbortSignal.any([signal, escaped.signal]));
    this.run(take, isolated).then(resolve, reject);
    return promise;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    UncaughtErrors.#open -= 1;
    if (UncaughtErrors.#open === 0) UncaughtErrors.#ignore();
  }

  static #ignore(): void {
    process.off("uncaughtException", UncaughtErrors.#onUncaught);
    process.off("unhandledRejection", UncaughtErrors.#onUncaught);
  }
}
