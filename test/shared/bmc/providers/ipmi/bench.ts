import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { ipmi } from "../../../../../shared/bmc/providers/ipmi/ipmi-provider.ts";
import { type Clock, systemClock } from "../../../../../shared/clock.ts";
import { Connection } from "../../../../../shared/contract/connection.ts";
import type { LogFields, Logger } from "../../../../../shared/logger.ts";
import { silentLogger } from "../../../../../shared/logger.ts";
import { type IpmiBmc, type IpmiBmcOptions, startIpmiBmc } from "../../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../../../../simulators/machine.ts";

const USERNAME = "admin";
const PASSWORD = "calvin";

/** A simulated BMC with one machine. */
export function startBmc(
  options: Omit<IpmiBmcOptions, "machine"> & { machine?: SimulatedMachineOptions } = {},
): Promise<IpmiBmc> {
  const machine = new SimulatedMachine(options.machine ?? { power: "off" });
  return startIpmiBmc({ ...options, machine });
}

/** The connection to it, with `overrides` as in an inventory. */
export function connectionTo(bmc: { port: number }, overrides: Record<string, unknown> = {}): Connection {
  const { ipmi: ipmiOptions, ...others } = overrides;
  return Connection.parse({
    host: "127.0.0.1",
    username: USERNAME,
    password: PASSWORD,
    connectTimeoutMs: 4_000,
    requestTimeoutMs: 4_000,
    ...others,
    ipmi: { port: bmc.port, ...(typeof ipmiOptions === "object" ? ipmiOptions : {}) },
  });
}

/** A session that may change the BMC itself. */
export const AS_ADMINISTRATOR = { ipmi: { privilege: "administrator" } };

export interface OpenOptions {
  readonly overrides?: Record<string, unknown>;
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly hint?: unknown;
  readonly signal?: AbortSignal;
}

/** A session with it, closed by `await using`. */
export async function openSession(
  bmc: { port: number },
  options: OpenOptions = {},
): Promise<Session & AsyncDisposable> {
  const session = await ipmi.open(
    connectionTo(bmc, options.overrides),
    { clock: options.clock ?? systemClock, log: options.log ?? silentLogger, hint: options.hint },
    options.signal ?? limit(),
  );
  return Object.assign(session, { [Symbol.asyncDispose]: () => session.close() });
}

/** For calls that are not what the test is about. */
export function limit(): AbortSignal {
  return AbortSignal.timeout(20_000);
}

/** A logger that keeps what it receives. */
export function recordingLogger(): Logger & { readonly lines: { fields: LogFields; message: string }[] } {
  const lines: { fields: LogFields; message: string }[] = [];
  const keep = (fields: LogFields, message: string) => {
    lines.push({ fields, message });
  };
  return { debug: keep, info: keep, warn: keep, error: keep, lines };
}

/** Waits until `condition` holds; fails the test when it never does. */
export async function eventually(condition: () => boolean): Promise<void> {
  const endMs = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error("the condition never came true");
    await systemClock.sleep(5);
  }
}
