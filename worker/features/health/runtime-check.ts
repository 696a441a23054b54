import type { Clock } from "../../../shared/clock.ts";
import { oneLine } from "../../../shared/contract/result.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import type { HealthFinding, WorkerFacts } from "../shared/facts.ts";

export interface RuntimeCheckOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** How long a finding is cached, so that frequent probes do not load the engine. */
  readonly keepMs: number;
}

/** Checks whether the runtime can be reached, one check at a time, and caches the finding. */
export class RuntimeCheck {
  readonly #options: RuntimeCheckOptions;
  #asking: Promise<HealthFinding> | undefined;
  #found: { readonly finding: HealthFinding; readonly atMs: number } | undefined;

  constructor(options: RuntimeCheckOptions) {
    this.#options = options;
  }

  async find(facts: WorkerFacts): Promise<HealthFinding> {
    const { clock, keepMs } = this.#options;
    if (this.#found && clock.monotonicMs() - this.#found.atMs < keepMs) return this.#found.finding;
    this.#asking ??= this.#ask(facts).then((finding) => {
      this.#found = { finding, atMs: clock.monotonicMs() };
      this.#asking = undefined;
      return finding;
    });
    return this.#asking;
  }

  /** Asks the runtime. Never rejects. */
  async #ask({ checkRuntime }: WorkerFacts): Promise<HealthFinding> {
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
