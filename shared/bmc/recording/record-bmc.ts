import { type Clock, systemClock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import type { Connection } from "../../contract/connection.ts";
import type { ErrorClass } from "../../contract/error-class.ts";
import type { NameOption } from "../../contract/name-option.ts";
import type { Logger } from "../../logger.ts";
import type { Anonymiser } from "../../recording/anonymise.ts";
import { Recording } from "../../recording/recording.ts";
import type { TlsFacts, WireTap } from "../../tracing/wire-tap.ts";
import { version } from "../../version.ts";
import { openRedfishReader } from "../providers/redfish/redfish-reader.ts";
import { type AmtReading, anonymousAmt, collectAmt, readAmt } from "./read-amt.ts";
import { anonymousIpmi, type IpmiReading, readIpmi } from "./read-ipmi.ts";
import { RECORDING_LANES, type ReadTree, type RecordingLimits, readTree } from "./read-tree.ts";
import { WireRecorder } from "./wire-recorder.ts";

export interface RecordBmcOptions {
  readonly limits: RecordingLimits;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  readonly nameOption?: NameOption | undefined;
  /** Set if the exchanges of an action follow. A BMC that answers but cannot be read is then recorded without its resources. */
  readonly hasAction?: boolean;
  progress(text: string): void;
}

/** Classes of errors of a BMC that has answered. */
const ANSWERED: readonly ErrorClass[] = ["protocol", "bmc", "busy", "unsupported", "timeout"];

/** An answer that takes this many times longer than others is recorded as slow. */
const SLOW_FACTOR = 4;
const SLOW_MS = 300;
/** The least difference of clocks, because BMCs show whole seconds. */
const LEAST_SKEW_MS = 5_000;

/** The data read from a BMC, including secrets; `anonymous` returns what may be written. */
export class BmcReading {
  readonly wire = new WireRecorder();
  tree: ReadTree | undefined;
  ipmi: IpmiReading | undefined;
  amt: AmtReading | undefined;
  /** Why a provider has contributed nothing. */
  readonly failures: string[] = [];

  /** The recording without anything that identifies the machine. */
  anonymous(anonymiser: Anonymiser, { username, host }: Pick<Connection, "username" | "host">): Recording {
    const { tree, wire } = this;
    if (username !== undefined) anonymiser.note("user name", username);
    anonymiser.note(/^[\d.]+$|:/.test(host) ? "address" : "host name", host);
    const resources = Object.fromEntries(tree?.resources ?? []);
    const refusals = Object.fromEntries(tree?.refusals ?? []);
    anonymiser.collect(resources);
    anonymiser.collect(refusals);
    wire.collect(anonymiser);
    if (this.amt) collectAmt(this.amt, anonymiser);
    for (const { name } of this.ipmi?.users ?? []) anonymiser.note("user name", name);
    const login = username === undefined ? undefined : String(anonymiser.value(username, "UserName"));
    const shown = new Map(
      [...(tree?.resources ?? [])].map(([path, body]) => [anonymiser.path(path), anonymiser.value(body)]),
    );
    const times = [...(tree?.times ?? [])];
    const latencyMs = medianOf(times.map(([, ms]) => ms));
    const slow = times.filter(
      ([, ms]) => latencyMs !== undefined && ms > SLOW_MS && ms > latencyMs * SLOW_FACTOR,
    );
    const draft = {
      recordedBy: `pbnj-worker ${version}`,
      recordedOn: new Date().toISOString().slice(0, 10),
      ...labelsOf([...shown.values()], this.ipmi, anonymiser),
      login,
      tls: wire.tls,
      etag: tree?.etag,
      ...(Math.abs(tree?.clockSkewMs ?? 0) > LEAST_SKEW_MS && {
        clockSkewMs: Math.round(tree?.clockSkewMs ?? 0),
      }),
      latencyMs: latencyMs === undefined ? undefined : Math.round(latencyMs),
      ...unlessEmpty(
        "slow",
        slow.map(([path, ms]) => [anonymiser.path(path.replace(/\?.*$/s, "")), Math.round(ms)]),
      ),
      resources: Object.fromEntries([...shown].toSorted(([one], [other]) => (one < other ? -1 : 1))),
      ...unlessEmpty(
        "refusals",
        [...(tree?.refusals ?? [])].map(([path, { status, headers, body }]) => [
          anonymiser.path(path.replace(/\?.*$/s, "")),
          { status, headers: anonymiser.headers(headers), body: anonymiser.value(body) },
        ]),
      ),
      ...(tree?.unread.length
        ? {
            unread: tree.unread.map(({ path, reason }) => ({
              path: anonymiser.path(path),
              reason: anonymiser.text(reason),
            })),
          }
        : {}),
      ...(this.ipmi && { ipmi: anonymousIpmi(this.ipmi, anonymiser) }),
      ...(this.amt && { amt: anonymousAmt(this.amt, anonymiser) }),
      ...wire.anonymous(anonymiser),
    };
    return Recording.parse({ ...draft, replaced: anonymiser.replaced });
  }
}

/**
 * Reads the data of a BMC with the first of the connection's providers that supports it. Writes nothing, and closes the
 * session. Rejects with a `BmcError` if nothing can be read and no action follows.
 */
export async function recordBmc(connection: Connection, options: RecordBmcOptions): Promise<BmcReading> {
  const reading = new BmcReading();
  const errors: BmcError[] = [];
  for (const provider of connection.providers) {
    options.signal.throwIfAborted();
    const read = READERS[provider];
    if (!read) continue;
    try {
      await read(connection, reading, options);
    } catch (thrown) {
      options.signal.throwIfAborted();
      const error = BmcError.from(thrown);
      // A refused password is not tried elsewhere, because accounts lock.
      if (error.class === "auth" && !reading.tree) throw error;
      errors.push(error);
      reading.failures.push(`${provider}: ${error.message}`);
    }
  }
  if (reading.tree ?? reading.ipmi ?? reading.amt) return reading;
  if (options.hasAction && errors.some((error) => ANSWERED.includes(error.class))) return reading;
  // Ironic and webhooks are services in front of a BMC and say little about its behaviour.
  const problem = `${connection.providers.join(", ")} cannot be recorded: record the BMC over redfish, ipmi or amt`;
  throw errors[0] ?? new BmcError("unsupported", problem);
}

type Read = (connection: Connection, reading: BmcReading, options: RecordBmcOptions) => Promise<void>;

const READERS: Readonly<Partial<Record<string, Read>>> = {
  redfish: readRedfish,
  ipmi: async (connection, reading, options) => {
    reading.ipmi = await readIpmi(connection, options);
    const { unread } = reading.ipmi;
    if (unread.length > 0) reading.failures.push(`ipmi: a limit was reached before ${unread.join(", ")}`);
  },
  amt: async (connection, reading, options) => {
    const connected = (facts: TlsFacts) => reading.wire.connected(facts);
    reading.amt = await readAmt(connection, { ...options, connected });
    const { unread } = reading.amt;
    if (unread.length > 0)
      reading.failures.push(`amt: ${unread.join(", ")}: a limit was reached, or no answer came`);
  },
};

async function readRedfish(
  connection: Connection,
  reading: BmcReading,
  options: RecordBmcOptions,
): Promise<void> {
  const { clock = systemClock, log, signal, limits, nameOption } = options;
  const tap: WireTap = {
    connected: (facts) => reading.wire.connected(facts),
    http: () => undefined,
    ipmi: () => undefined,
  };
  const reader = openRedfishReader(connection, { clock, log, tap, nameOption }, RECORDING_LANES);
  try {
    reading.tree = await readTree(reader, limits, {
      clock,
      signal,
      progress: (read, known) => options.progress(`read ${read} of ${known} resources`),
    });
  } finally {
    await reader.close();
  }
}

/** Labels of the machine and its BMC, for people. */
function labelsOf(resources: readonly unknown[], ipmi: IpmiReading | undefined, anonymiser: Anonymiser) {
  const typed = (type: string) =>
    resources.find((body) =>
      String((body as Record<string, unknown>)["@odata.type"]).startsWith(`#${type}.`),
    ) as Record<string, unknown> | undefined;
  const textOf = (value: unknown) => (typeof value === "string" ? value.trim() : undefined);
  const system = typed("ComputerSystem");
  const { system: fru, bmc } = ipmi?.hardware ?? {};
  return {
    vendor: textOf(system?.["Manufacturer"] ?? anonymiser.value(fru?.vendor, "Manufacturer")),
    model: textOf(system?.["Model"] ?? anonymiser.value(fru?.model, "Model")),
    bmcFirmware: textOf(
      typed("Manager")?.["FirmwareVersion"] ?? anonymiser.value(bmc?.firmware, "FirmwareVersion"),
    ),
  };
}

function medianOf(values: readonly number[]): number | undefined {
  return values.toSorted((one, other) => one - other)[values.length >> 1];
}

function unlessEmpty(name: string, entries: readonly (readonly [string, unknown])[]): object {
  return entries.length === 0 ? {} : { [name]: Object.fromEntries(entries) };
}
