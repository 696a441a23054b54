import type { Clock } from "../../../shared/clock.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { JournalSeen } from "../../core/journal/journal.ts";
import type { HealthFinding } from "../shared/health-finding.ts";

/** Whether the state directory is writable, according to the journal's last operations. */
export class JournalWatch {
  readonly #clock: Clock;
  /** Steps that have failed since they last succeeded. */
  readonly #failedMs = new Map<JournalSeen["step"], number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly observer: Observer = {
    journal: ({ step, ok }) => {
      if (ok) this.#failedMs.delete(step);
      else this.#failedMs.set(step, this.#clock.monotonicMs());
    },
  };

  directory(): HealthFinding {
    const [failed] = this.#failedMs;
    if (failed === undefined) return { ok: true, reason: "written without an error" };
    const [step, atMs] = failed;
    const ago = formatSeconds(this.#clock.monotonicMs() - atMs);
    return {
      ok: false,
      reason: `the journal could not ${step} an entry ${ago} ago: the log says why`,
    };
  }
}
