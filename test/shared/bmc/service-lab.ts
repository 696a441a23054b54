import { BmcClient } from "../../../shared/bmc/client.ts";
import type { Provider, Session } from "../../../shared/bmc/operations/provider.ts";
import { systemClock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import { silentLogger } from "../../../shared/logger.ts";
import { scaledClock } from "../../support/scaled-clock.ts";

export const signal = new AbortController().signal;

/** A session of a provider that is closed at the end of its block, with the hint if there is one. */
export async function openSession(
  provider: Provider,
  connection: unknown,
  hint?: unknown,
): Promise<Session & AsyncDisposable> {
  const context = { clock: systemClock, log: silentLogger, hint };
  const session = await provider.open(Connection.parse(connection), context, signal);
  return Object.assign(session, { [Symbol.asyncDispose]: () => session.close() });
}

/** A client whose waits pass fifty times as fast, closed at the end of its block. */
export function clientOf(connection: unknown): BmcClient & AsyncDisposable {
  const client = new BmcClient(Connection.parse(connection), { clock: scaledClock(50) });
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** The BmcError a promise is rejected with; anything else fails the test. */
export async function errorOf(promise: Promise<unknown>): Promise<BmcError> {
  const thrown: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof BmcError) return thrown;
  throw new Error("expected a BmcError", { cause: thrown });
}
