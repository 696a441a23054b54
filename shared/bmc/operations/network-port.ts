import { lookup } from "node:dns/promises";
import { isIPv4 } from "node:net";
import { BmcError } from "../../contract/bmc-error.ts";
import type { SessionProvider } from "../../contract/vocabulary.ts";
import { formatSeconds } from "../../duration.ts";
import { isIpv6 } from "../../ip-address.ts";
import { TimeoutReached, withTimeout } from "../../timeout.ts";
import type { Access } from "./access.ts";
import type { NetworkSettings } from "./network-settings.ts";

/** An interface's current and wanted settings. */
export interface NetworkChange {
  readonly before: NetworkSettings;
  readonly target: NetworkSettings;
}

export interface NetworkDriver {
  /** The BMC's own interfaces. */
  list(signal: AbortSignal): Promise<readonly NetworkSettings[]>;
  /** Describes what `write` would send, in one line per request. */
  plan(change: NetworkChange, signal: AbortSignal): Promise<readonly string[]>;
  /** Sends the settings that differ, once. The session may be lost afterwards. */
  write(change: NetworkChange, signal: AbortSignal): Promise<void>;
  /** Ends a change that was left in progress when its session was lost. */
  finish?(signal: AbortSignal): Promise<void>;
}

export type NetworkDrivers = { readonly network: NetworkDriver };

/** The BMC's network with retries in place; what the operations need and no more. */
export type NetworkPort = ReturnType<typeof networkPort>;

export function networkPort(access: Access<NetworkDrivers>, signal: AbortSignal) {
  const { connection, clock, read, write, afresh, useHost, sleep, progress } = access;
  let through: SessionProvider | undefined;
  return {
    clock,
    /** The connection's host. */
    host: connection.host,
    addresses: () => addressesOf(connection.host, signal),
    list: () => read(({ network }) => network.list(signal)),
    plan: (change: NetworkChange) => read(({ network }) => network.plan(change, signal)),
    /** Sends the change once. Without a response within `limitMs`, the result is uncertain. */
    write: (change: NetworkChange, limitMs: number) =>
      write(async ({ provider, network }) => {
        through = provider;
        const sending = new AbortController();
        const sent = network.write(change, AbortSignal.any([signal, sending.signal]));
        try {
          await withTimeout(limitMs, signal, () => sent);
        } catch (thrown) {
          if (!(thrown instanceof TimeoutReached)) throw thrown;
          sending.abort(thrown);
          // The driver's own error says how far the change came.
          await sent.catch((stopped) => {
            throw unanswered(thrown, BmcError.from(stopped));
          });
        }
      }),
    finish: () => write(async ({ network }) => network.finish?.(signal)),
    /** Reads once with a new session of the provider that made the change. A BMC that does not answer is expected. */
    probe: (limitMs: number): Promise<readonly NetworkSettings[]> =>
      withTimeout(limitMs, signal, (limit) => afresh(through, limit, ({ network }) => network.list(limit))),
    useHost,
    sleep,
    progress,
  };
}

function unanswered({ afterMs }: TimeoutReached, cause: BmcError): BmcError {
  const said = cause.uncertain ? `: ${cause.message}` : "";
  const text = `the BMC did not answer the change within ${formatSeconds(afterMs)}${said}`;
  return new BmcError("timeout", text, { cause, uncertain: true });
}

const LOOKUP_MS = 5_000;

/** Resolves a host name to its addresses; none if the name is unknown. */
async function addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
  if (isIPv4(host) || isIpv6(host)) return [host];
  try {
    const found = await withTimeout(LOOKUP_MS, signal, () => lookup(host, { all: true }));
    return found.map(({ address }) => address);
  } catch {
    signal.throwIfAborted();
    return [];
  }
}
