import type { Clock } from "../../../shared/clock.ts";
import { oneLine } from "../../../shared/contract/result.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import type { WorkerFacts } from "../../action/observer.ts";
import type { Finding } from "./check.ts";

export interface RuntimeCheckOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** How long a finding stands, so that many who ask do not keep the engine busy. */
  readonly keepMs: number;
}

/** Whether the runtime can be reached; asked once at a time, and not again and again. */
export class RuntimeCheck {
  readonly #options: RuntimeCheckOptions;
  #asking: Promise<Finding> | undefined;
  #found: { readonly finding: Finding; readonly atMs: number } | undefined;

  constructor(options: RuntimeCheckOptions) {
    this.#options = options;
  }

  async find(facts: Pick<WorkerFacts, "checkRuntime">): Promise<Finding> {
    const { clock, keepMs } = this.#options;
    if (this.#found && clock.monotonicMs() - this.#found.atMs < keepMs) return this.#found.finding;
    this.#asking ??= this.#ask(facts).then((finding) => {
      this.#found = { finding, atMs: clock.monotonicMs() };
      this.#asking = undefined;
      return finding;
    });
    return this.#asking;
  }

  /** Never rejects. */
  async #ask({ checkRuntime }: Pick<WorkerFacts, "checkRuntime">): Promise<Finding> {
    const { timeoutMs } = this.#options;
    try {
      const reason = await withTimeout(timeoutMs, new AbortController().signal, checkRuntime);
      return { ok: true, reason: oneLine(reason) };
    } catch (thrown) {
      if (thrown instanceof TimeoutReached) return { ok: false, reason: `no answer within ${timeoutMs} ms` };
      return { ok: false, reason: oneLine(textOf(thrown)) };
    }
  }
}
