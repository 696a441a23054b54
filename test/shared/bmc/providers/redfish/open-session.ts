import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { redfish } from "../../../../../shared/bmc/providers/redfish/redfish-provider.ts";
import { systemClock } from "../../../../../shared/clock.ts";
import { BmcError } from "../../../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../../../shared/contract/connection.ts";
import type { LogFields, Logger } from "../../../../../shared/logger.ts";
import type { RedfishBmc } from "../../../../../simulators/redfish/bmc.ts";

export interface OpenOptions {
  readonly connection?: Record<string, unknown>;
  readonly redfish?: Record<string, unknown>;
  readonly tls?: Record<string, unknown>;
  readonly hint?: unknown;
  readonly signal?: AbortSignal;
  readonly log?: Logger;
}

/** A connection to a simulated BMC, pinned to its certificate unless `tls` says otherwise. */
export function connectionTo(bmc: RedfishBmc, options: OpenOptions = {}): Connection {
  const tls = options.tls ?? (bmc.certificate ? { fingerprint: bmc.fingerprint } : {});
  return Connection.parse({
    host: bmc.host,
    username: bmc.username,
    password: bmc.password,
    tls,
    redfish: { port: bmc.port, scheme: bmc.certificate ? "https" : "http", ...options.redfish },
    ...options.connection,
  });
}

/** Opens a session on a simulated BMC. */
export function openSession(bmc: RedfishBmc, options: OpenOptions = {}): Promise<Session> {
  const context = { clock: systemClock, log: options.log ?? new RecordingLogger(), hint: options.hint };
  return redfish.open(connectionTo(bmc, options), context, options.signal ?? neverAborts());
}

/** Opens a session, uses it, and closes it whatever happens. */
export async function withSession<T>(
  bmc: RedfishBmc,
  options: OpenOptions,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await openSession(bmc, options);
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}

export function neverAborts(): AbortSignal {
  return new AbortController().signal;
}

/** The BmcError a promise is rejected with; anything else fails the test. */
export async function errorOf(promise: Promise<unknown>): Promise<BmcError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof BmcError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

export class RecordingLogger implements Logger {
  readonly entries: { readonly level: string; readonly fields: LogFields; readonly message: string }[] = [];

  readonly debug = this.#at("debug");
  readonly info = this.#at("info");
  readonly warn = this.#at("warn");
  readonly error = this.#at("error");

  messages(level: string): readonly string[] {
    return this.entries.filter((entry) => entry.level === level).map(({ message }) => message);
  }

  #at(level: string) {
    return (fields: LogFields, message: string) => {
      this.entries.push({ level, fields, message });
    };
  }
}

/** Waits until `condition` holds; fails after a generous time. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
