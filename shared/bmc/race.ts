import type { ProviderName } from "../contract/vocabulary.ts";
import { BmcError } from "./errors.ts";

export interface Candidate<T> {
  readonly name: ProviderName;
  /** `failing` is told of an attempt that failed, also when another one follows: the next candidate starts then. */
  open(signal: AbortSignal, failing: (thrown: unknown) => void): Promise<T>;
}

export interface RaceOptions<T> {
  /** How long each candidate runs before the next one starts beside it; a failure starts it at once. */
  readonly headStartMs: number;
  /** Gives back what a candidate opened after another had won. */
  readonly discard: (opened: T) => Promise<void>;
}

/** A refused password ends the search: another provider would fail the same way and help lock the account. */
const isFinal = (error: BmcError) => error.class === "auth";

/**
 * Opens the candidates in order, staggered, and gives the first that answers. The others are cancelled, and
 * what they opened is discarded, before this returns. An error names each candidate that failed and its reason.
 */
export async function openFirst<T>(
  candidates: readonly Candidate<T>[],
  options: RaceOptions<T>,
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted();
  const race = new AbortController();
  const onAbort = () => race.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const failures: { name: ProviderName; error: BmcError }[] = [];
  const running = new Set<Promise<void>>();
  let nextUp = 0;
  let headStart: NodeJS.Timeout | undefined;
  let won: { opened: T } | undefined;

  try {
    return await new Promise<T>((resolve, reject) => {
      const startNext = () => {
        clearTimeout(headStart);
        const candidate = candidates[nextUp];
        if (!candidate || race.signal.aborted) return;
        nextUp += 1;
        if (nextUp < candidates.length) headStart = setTimeout(startNext, options.headStartMs);
        let isNextHeldBack = true;
        const failing = (thrown: unknown) => {
          if (!isNextHeldBack || isFinal(BmcError.from(thrown))) return;
          isNextHeldBack = false;
          startNext();
        };
        const run = candidate.open(race.signal, failing).then(
          async (opened) => {
            if (won || race.signal.aborted) {
              await options.discard(opened);
              return;
            }
            won = { opened };
            resolve(opened);
          },
          (thrown: unknown) => {
            const error = BmcError.from(thrown);
            failures.push({ name: candidate.name, error });
            if (isFinal(error) || failures.length === candidates.length) reject(combine(failures));
            else failing(error);
          },
        );
        const settled = run.finally(() => running.delete(settled));
        running.add(settled);
      };
      race.signal.addEventListener("abort", () => reject(race.signal.reason), { once: true });
      startNext();
    });
  } finally {
    clearTimeout(headStart);
    signal.removeEventListener("abort", onAbort);
    race.abort(new BmcError("cancelled", "another provider answered first"));
    await Promise.allSettled(running);
  }
}

/** From the most telling class to the least: an answer says more than silence. */
const TELLING = ["auth", "tls", "usage", "busy", "protocol", "bmc", "timeout", "unreachable", "unsupported"];

function combine(failures: readonly { name: ProviderName; error: BmcError }[]): BmcError {
  const final = failures.find(({ error }) => isFinal(error));
  const told = final ? [final] : failures;
  const rank = ({ error }: { error: BmcError }) => {
    const index = TELLING.indexOf(error.class);
    return index === -1 ? TELLING.length : index;
  };
  const [telling] = told.toSorted((a, b) => rank(a) - rank(b));
  const reasons = told.map(({ name, error }) => `${name}: ${error.message}`).join("; ");
  return new BmcError(telling?.error.class ?? "internal", reasons, { cause: telling?.error });
}
