import { BmcError } from "../../contract/bmc-error.ts";
import type { ErrorClass } from "../../contract/error-class.ts";
import type { SessionProvider } from "../../contract/vocabulary.ts";

/** Reports the progress of a candidate while it opens. */
interface RaceProgress {
  /** Something has answered, even if only a connection attempt. The candidate then gets its whole head start. */
  reached(): void;
  /** An attempt has failed, even if another one follows. There is no reason to wait any longer. */
  failing(thrown: unknown): void;
}

export interface Candidate<T> {
  readonly name: SessionProvider;
  open(signal: AbortSignal, progress: RaceProgress): Promise<T>;
}

export interface RaceOptions<T> {
  /** How long a candidate that was reached is preferred to later ones. */
  readonly headStartMs: number;
  /** Whether a failure ends the race, so that no other candidate may win. */
  readonly isFinal: (error: BmcError) => boolean;
  /** Discards what a candidate opened after another one had won. */
  readonly discard: (opened: T) => Promise<void>;
  /** Receives the clean-up of the losers, which the winner does not wait for. It never rejects. */
  readonly tidying: (tidied: Promise<void>) => void;
}

/** On a management network, a living host answers within milliseconds. Later silence may mean that it is dead. */
const SILENCE_MS = 5;

const NOT_YET = Number.POSITIVE_INFINITY;

/**
 * Opens the candidates in order of preference and returns the best one that answers. The next one starts in addition when
 * the last one showed no sign of life for `SILENCE_MS`, when it failed, or when its head start has expired. The others are
 * cancelled and what they opened is discarded, which is passed to `tidying`. An error names each failed candidate and its
 * reason.
 */
export async function openFirst<T>(
  candidates: readonly Candidate<T>[],
  options: RaceOptions<T>,
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted();
  const race = new Race(candidates, options);
  const onAbort = () => options.tidying(race.end(signal.reason));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await race.run();
  } finally {
    signal.removeEventListener("abort", onAbort);
    options.tidying(race.end(new BmcError("cancelled", "another provider answered first")));
  }
}

interface Running {
  readonly state: "running";
  readonly startedMs: number;
  readonly reached: boolean;
  readonly failing: boolean;
}

type Runner<T> =
  | Running
  | { readonly state: "opened"; readonly opened: T }
  | { readonly state: "failed"; readonly error: BmcError };

class Race<T> {
  readonly #candidates: readonly Candidate<T>[];
  readonly #options: RaceOptions<T>;
  readonly #controller = new AbortController();
  readonly #result = Promise.withResolvers<T>();
  /** One runner per started candidate, in order of preference. */
  readonly #runners: Runner<T>[] = [];
  readonly #settled: Promise<void>[] = [];
  #timer: NodeJS.Timeout | undefined;
  #winner: T | undefined;
  #over = false;

  constructor(candidates: readonly Candidate<T>[], options: RaceOptions<T>) {
    this.#candidates = candidates;
    this.#options = options;
    // A caller that ends the race early may not be waiting for its result.
    this.#result.promise.catch(() => undefined);
  }

  run(): Promise<T> {
    this.#startNext();
    return this.#result.promise;
  }

  /** Cancels running candidates and discards what they opened. */
  async end(reason: unknown): Promise<void> {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#result.reject(reason);
    this.#controller.abort(reason);
    await Promise.allSettled(this.#settled);
    const spare = this.#runners.flatMap((runner) =>
      runner.state === "opened" && runner.opened !== this.#winner ? [runner.opened] : [],
    );
    this.#runners.length = 0;
    await Promise.allSettled(spare.map(this.#options.discard));
  }

  #startNext(): void {
    const index = this.#runners.length;
    const candidate = this.#candidates[index];
    if (!candidate) return;
    this.#runners.push({ state: "running", startedMs: NOT_YET, reached: false, failing: false });
    const progress: RaceProgress = {
      reached: () => this.#progressed(index, { reached: true }),
      failing: (thrown) => {
        if (!this.#options.isFinal(BmcError.from(thrown))) this.#progressed(index, { failing: true });
      },
    };
    const run = candidate.open(this.#controller.signal, progress).then(
      (opened) => this.#became(index, { state: "opened", opened }),
      (thrown: unknown) => this.#became(index, { state: "failed", error: BmcError.from(thrown) }),
    );
    this.#settled.push(run);
    // The time begins when the candidate has sent something, because the first use of a protocol's code is slow.
    setImmediate(() => this.#progressed(index, { startedMs: performance.now() }));
  }

  #progressed(index: number, said: Partial<Running>): void {
    const runner = this.#runners[index];
    if (runner?.state === "running") this.#became(index, { ...runner, ...said });
  }

  #became(index: number, runner: Runner<T>): void {
    this.#runners[index] = runner;
    if (!this.#over) this.#look();
  }

  /** Decides the race if possible, and otherwise when to check again. */
  #look(): void {
    clearTimeout(this.#timer);
    const failures = this.#failures();
    const final = failures.find(({ error }) => this.#options.isFinal(error));
    const waitMs = this.#waitMs();
    const opened = this.#runners.find((runner) => runner.state === "opened");
    if (final) this.#result.reject(combine([final]));
    else if (waitMs > 0) this.#lookIn(waitMs);
    else if (opened) this.#win(opened.opened);
    else if (this.#runners.length < this.#candidates.length) this.#startNext();
    else if (failures.length === this.#candidates.length) this.#result.reject(combine(failures));
  }

  /** Checks later. Sockets that are ready are read first, because a timer runs before them. */
  #lookIn(ms: number): void {
    if (ms === NOT_YET) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      setImmediate(() => {
        if (!this.#over && this.#timer === undefined) this.#look();
      });
    }, Math.ceil(ms));
  }

  /** How long the candidates before the first opened one are still worth waiting for; all of them if none is open. */
  #waitMs(): number {
    const now = performance.now();
    const opened = this.#runners.findIndex((runner) => runner.state === "opened");
    const before = opened < 0 ? this.#runners : this.#runners.slice(0, opened);
    const waits = before.map((runner) => {
      if (runner.state !== "running" || runner.failing) return 0;
      return runner.startedMs + this.#patienceMs(runner.reached) - now;
    });
    return Math.max(0, ...waits);
  }

  #patienceMs(reached: boolean): number {
    const { headStartMs } = this.#options;
    return reached ? headStartMs : Math.min(SILENCE_MS, headStartMs);
  }

  #win(opened: T): void {
    this.#winner = opened;
    this.#over = true;
    this.#result.resolve(opened);
  }

  #failures(): readonly Failure[] {
    return this.#runners.flatMap((runner, index) => {
      const name = this.#candidates[index]?.name;
      return runner.state === "failed" && name ? [{ name, error: runner.error }] : [];
    });
  }
}

interface Failure {
  readonly name: SessionProvider;
  readonly error: BmcError;
}

/** Error classes from the most to the least informative: an answer says more than silence. */
const TELLING: readonly ErrorClass[] = [
  "auth",
  "tls",
  "usage",
  "busy",
  "verify",
  "state",
  "protocol",
  "bmc",
  "timeout",
  "unreachable",
  "unsupported",
];

/** The most informative class of several failures; `internal` if there are none. */
export function mostTelling(classes: readonly ErrorClass[]): ErrorClass {
  return TELLING.find((known) => classes.includes(known)) ?? classes[0] ?? "internal";
}

function combine(failures: readonly Failure[]): BmcError {
  const errorClass = mostTelling(failures.map(({ error }) => error.class));
  const cause = failures.find(({ error }) => error.class === errorClass)?.error;
  const reasons = failures.map(({ name, error }) => `${name}: ${error.message}`).join("; ");
  return new BmcError(errorClass, reasons, { cause });
}
