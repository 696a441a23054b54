import { Worker } from "node:worker_threads";
import { textOf } from "../../shared/text-of.ts";
import type { Cell, Row } from "./cells.ts";
import type { CellReport, Report, Task } from "./thread.ts";

/** A run takes milliseconds; a busy machine makes it longer. */
const HUNG_MS = 150_000;

/** One thread that runs cells. A cell that ends its thread, or never returns, is a finding. */
class CellThread {
  #worker: Worker | undefined;
  #answered: ((report: Report) => void) | undefined;
  #failed: ((thrown: Error) => void) | undefined;
  actions: readonly string[] = [];

  async start(): Promise<void> {
    const worker = new Worker(new URL("thread.ts", import.meta.url));
    this.#worker = worker;
    worker.on("message", (report: Report) => this.#answered?.(report));
    worker.on("error", (thrown) =>
      this.#failed?.(thrown instanceof Error ? thrown : new Error(textOf(thrown))),
    );
    const report = await this.#answer();
    if ("actions" in report) this.actions = report.actions;
  }

  async rowsOf(action: string): Promise<readonly Row[]> {
    const report = await this.#ask({ kind: "rows", action });
    if (!("rows" in report)) throw new Error("the thread answered something else");
    return report.rows;
  }

  async run(cell: Cell, log: boolean): Promise<CellReport> {
    try {
      const report = await this.#ask({ kind: "cell", cell, log });
      if (!("report" in report)) throw new Error("the thread answered something else");
      return report.report;
    } catch (thrown) {
      await this.stop();
      await this.start();
      const violations = [
        {
          kind: "crash",
          detail: thrown instanceof Error ? (thrown.stack ?? thrown.message) : textOf(thrown),
        },
      ] as const;
      return { cell, hit: undefined, violations, ok: false, message: "", durationMs: 0, log: "" };
    }
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  #ask(task: Task): Promise<Report> {
    const answer = this.#answer();
    this.#worker?.postMessage(task);
    return answer;
  }

  async #answer(): Promise<Report> {
    const { promise, resolve, reject } = Promise.withResolvers<Report>();
    this.#answered = resolve;
    this.#failed = reject;
    const watchdog = setTimeout(() => reject(new Error(`no end within ${HUNG_MS / 1_000} s`)), HUNG_MS);
    try {
      return await promise;
    } finally {
      clearTimeout(watchdog);
    }
  }
}

/** Threads that share work. */
export class Threads implements AsyncDisposable {
  readonly #threads: readonly CellThread[];

  constructor(count: number) {
    this.#threads = Array.from({ length: count }, () => new CellThread());
  }

  /** Starts them; the actions of the matrix. */
  async actions(): Promise<readonly string[]> {
    await Promise.all(this.#threads.map((thread) => thread.start()));
    return this.#threads[0]?.actions ?? [];
  }

  /** Gives each item to the next thread that is free. */
  async each<T>(items: readonly T[], work: (thread: CellThread, item: T) => Promise<void>): Promise<void> {
    const left = items.values();
    await Promise.all(
      this.#threads.map(async (thread) => {
        for (const item of left) await work(thread, item);
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.stop()));
  }
}
