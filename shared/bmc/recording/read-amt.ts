import { systemClock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import type { Connection } from "../../contract/connection.ts";
import { defined } from "../../defined.ts";
import type { Anonymiser } from "../../recording/anonymise.ts";
import type { RecordedAmt } from "../../recording/recording.ts";
import type { TappedHttp, TlsFacts, WireTap } from "../../tracing/wire-tap.ts";
import { readFault } from "../providers/amt/fault.ts";
import type { ResourceClass } from "../providers/amt/messages.ts";
import type { WsmanClient } from "../providers/amt/wsman.ts";
import { connectWsman } from "../providers/amt/wsman-connection.ts";
import { childOf, parseXml } from "../providers/amt/xml.ts";
import { type AmtInstance, anonymousInstance, instancesOf } from "./amt-instance.ts";
import { RecordingBudget } from "./budget.ts";
import type { IpmiContext } from "./read-ipmi.ts";
import { anonymousFault } from "./wsman-message.ts";

type Refused = NonNullable<RecordedAmt["refused"]>[string];

/** The data read from an Intel AMT device, including secrets. */
export interface AmtReading {
  /** The device's name for itself. */
  readonly server: string | undefined;
  readonly classes: Readonly<Record<string, readonly AmtInstance[]>>;
  /** Refusals by request, such as `Get IPS_OptInService`. */
  readonly refused: Readonly<Record<string, Refused>>;
  /** What was not read because of a limit or silence. */
  readonly unread: readonly string[];
}

interface AmtContext extends IpmiContext {
  connected(facts: TlsFacts): void;
}

type Way = "Get" | "Enumerate";

/** The readings of the provider about power and boot. */
const READINGS: readonly {
  readonly what: string;
  readonly resource: ResourceClass;
  /** The ways to read; the next one is used only if the device does not support the previous one. */
  readonly ways: readonly Way[];
}[] = [
  { what: "power", resource: "CIM_AssociatedPowerManagementService", ways: ["Get", "Enumerate"] },
  { what: "the user's consent", resource: "IPS_OptInService", ways: ["Get"] },
  { what: "boot settings", resource: "AMT_BootSettingData", ways: ["Get"] },
  { what: "the boot configuration", resource: "CIM_ElementSettingData", ways: ["Enumerate"] },
  { what: "boot sources", resource: "CIM_OrderedComponent", ways: ["Enumerate"] },
];
const BUSY_MS = 2_000;
const LONGEST_BUSY_MS = 5_000;

/** Reads over WS-Management, one request at a time. Rejects if the device refuses the login or nothing answers. */
export async function readAmt(connection: Connection, context: AmtContext): Promise<AmtReading> {
  const { limits, log, signal, nameOption, progress } = context;
  const classes: Record<string, readonly AmtInstance[]> = {};
  const refused: Record<string, Refused> = {};
  const unread: string[] = [];
  const budget = new RecordingBudget(limits, signal);
  const seen: { last?: TappedHttp["answer"] | undefined; server?: string | undefined } = {};
  const tap: WireTap = {
    connected: (facts) => context.connected(facts),
    http: ({ answer }) => {
      seen.last = answer;
      seen.server ??= answer?.headers["server"];
      budget.spend(answer?.body.length ?? 0);
    },
    ipmi: () => undefined,
  };
  const { http, wsman } = connectWsman(connection, { clock: systemClock, log, tap, nameOption });
  const lastAnswer = () => seen.last;
  const hasAnswer = () => Object.keys(classes).length + Object.keys(refused).length > 0;
  /** Returns whether it was read; false if the device does not support this way. Throws other errors. */
  const read = async (way: Way, resource: ResourceClass): Promise<boolean> => {
    seen.last = undefined;
    try {
      const found = await twiceIfBusy(() => askFor(wsman, way, resource, budget.signal), budget);
      classes[resource] = instancesOf(resource, found);
      return true;
    } catch (thrown) {
      const error = BmcError.from(thrown);
      const last = lastAnswer();
      if (!last || last.status < 300 || last.status === 401) throw error;
      refused[`${way} ${resource}`] = refusalIn(last);
      return error.class !== "unsupported";
    }
  };
  try {
    for (const { what, resource, ways } of READINGS) {
      progress(`reading ${what} over AMT`);
      try {
        for (const way of ways) if (await read(way, resource)) break;
      } catch (thrown) {
        signal.throwIfAborted();
        const error = BmcError.from(thrown);
        if (error.class === "auth" || error.class === "tls") throw error;
        if (!hasAnswer() && !budget.signal.aborted) throw error;
        log.debug({ reason: error.message }, `${what} not recorded`);
        unread.push(what);
      }
    }
    return { server: seen.server, classes, refused, unread };
  } finally {
    await http.close();
  }
}

async function askFor(wsman: WsmanClient, way: Way, resource: ResourceClass, signal: AbortSignal) {
  signal.throwIfAborted();
  return way === "Get" ? [await wsman.get(resource, signal)] : await wsman.enumerate(resource, signal);
}

async function twiceIfBusy<T>(ask: () => Promise<T>, { signal }: RecordingBudget): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (error.class !== "busy") throw error;
    await systemClock.sleep(Math.min(error.retryAfterMs ?? BUSY_MS, LONGEST_BUSY_MS), signal);
    return await ask();
  }
}

function refusalIn({ status, body }: NonNullable<TappedHttp["answer"]>): Refused {
  try {
    const fault = childOf(childOf(parseXml(body.toString("utf8")), "Body"), "Fault");
    return fault ? { status, ...readFault(fault) } : { status };
  } catch {
    // The answer is not SOAP, so only its status is useful.
    return { status };
  }
}

/** Collects everything that identifies the machine, before anything is written. */
export function collectAmt({ classes }: AmtReading, anonymiser: Anonymiser): void {
  for (const instance of Object.values(classes).flat()) anonymiser.collect(instance);
}

/** A reading without anything that identifies the machine. */
export function anonymousAmt({ server, classes, refused }: AmtReading, anonymiser: Anonymiser): RecordedAmt {
  const refusals = Object.entries(refused).map(([asked, { status, subcode, reason = "" }]) => [
    asked,
    { status, ...(subcode !== undefined && anonymousFault({ subcode, reason }, anonymiser)) },
  ]);
  const shown = Object.entries(classes).map(([name, all]) => [
    name,
    all.map((instance) => anonymousInstance(instance, anonymiser)),
  ]);
  return {
    ...defined({ server: server === undefined ? undefined : anonymiser.text(server, "version") }),
    classes: Object.fromEntries(shown),
    ...(refusals.length > 0 && { refused: Object.fromEntries(refusals) }),
  };
}
