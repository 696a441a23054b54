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
