import { BmcError } from "../../contract/bmc-error.ts";
import type { ErrorClass } from "../../contract/error-class.ts";

/** What a driver read. A driver answers undefined where the state cannot be read back; here that is `unsupported`. */
export function reported<State>(what: string, state: State | undefined): State {
  if (state === undefined) throw new BmcError("unsupported", `the ${what} cannot be read back`);
  return state;
}

/** BMCs take a while to apply a change: reads after each of these delays until the state is as asked. */
export async function awaitState<State>(
  delaysMs: readonly [number, ...number[]],
  port: { sleep(ms: number): Promise<void> },
  read: () => Promise<State>,
  isAsked: (state: State) => boolean,
): Promise<State> {
  const [firstMs, ...laterMs] = delaysMs;
  if (firstMs > 0) await port.sleep(firstMs);
  let state = await read();
  for (const delayMs of laterMs) {
    if (isAsked(state)) break;
    await port.sleep(delayMs);
    state = await read();
  }
  return state;
}

/** Errors after which the state says nothing about the write. */
const FINAL: readonly ErrorClass[] = ["auth", "cancelled", "internal", "tls", "unsupported", "usage"];

/** Writes once. A refusal that the state may disprove is returned, other errors are thrown. */
export async function refusalOf(write: () => Promise<void>): Promise<BmcError | undefined> {
  try {
    await write();
    return undefined;
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (FINAL.includes(error.class)) throw error;
    return error;
  }
}

/** The error of a write whose answer was lost, after which only a read shows the result; other errors are thrown. */
export async function uncertainty(write: () => Promise<void>): Promise<BmcError | undefined> {
  try {
    await write();
    return undefined;
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (error.uncertain) return error;
    throw error;
  }
}

/** Sends what does something again each time: a lost answer is an error, never a second try. */
export async function sendOnce(send: () => Promise<void>, mayHave: string): Promise<void> {
  const lost = await uncertainty(send);
  if (!lost) return;
  const message = `${lost.message}; ${mayHave} and is not sent again`;
  throw new BmcError(lost.class, message, { cause: lost, uncertain: true });
}
