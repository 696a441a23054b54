import { systemClock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import type { Connection } from "../../contract/connection.ts";
import type { NameOption } from "../../contract/name-option.ts";
import type { Logger } from "../../logger.ts";
import type { Anonymiser } from "../../recording/anonymise.ts";
import { keptAnswer } from "../../recording/ipmi-request.ts";
import type { RecordedIpmi } from "../../recording/recording.ts";
import type { TappedIpmi, WireTap } from "../../tracing/wire-tap.ts";
import { BmcClient } from "../client.ts";
import type { Hardware } from "../operations/inventory.ts";
import type { NetworkSettings } from "../operations/network-settings.ts";
import type { BmcUser } from "../operations/user-port.ts";
import { readOfferedSuites } from "../providers/ipmi/session/offered-suites.ts";
import { anonymousSdrs, isKnownSdr, knownEvent, recordsOf } from "./anonymous-command.ts";
import { RecordingBudget } from "./budget.ts";
import type { RecordingLimits } from "./read-tree.ts";

/** The data read over IPMI, including secrets. */
export interface IpmiReading {
  readonly commands: readonly TappedIpmi[];
  readonly users: readonly BmcUser[];
  readonly networks: readonly NetworkSettings[];
  readonly hardware: Hardware | undefined;
  /** The records of the cipher suites that the BMC offers. */
  readonly cipherSuites: Uint8Array | undefined;
  readonly bootFlags: Awaited<ReturnType<BmcClient["getBoot"]>> | undefined;
  /** What was not read because of a limit. */
  readonly unread: readonly string[];
}

export interface IpmiContext {
  readonly limits: RecordingLimits;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly nameOption?: NameOption | undefined;
  progress(text: string): void;
}

const SUITES_MS = 2_000;

/** Runs a reading over IPMI and keeps its commands. Rejects only if no session opens. */
export async function readIpmi(
  connection: Connection,
  { limits, log, signal, nameOption, progress }: IpmiContext,
): Promise<IpmiReading> {
  const commands: TappedIpmi[] = [];
  const unread: string[] = [];
  const budget = new RecordingBudget(limits, signal);
  const bound = budget.signal;
  const tap: WireTap = {
    connected: () => undefined,
    http: () => undefined,
    ipmi: (exchange) => {
      commands.push(exchange);
      budget.spend(exchange.answer?.length ?? 0);
    },
  };
  const { hint: _, ...own } = connection;
  const client = new BmcClient({ ...own, providers: ["ipmi"] }, { log, tap, nameOption });
  const attempt = async <T>(
    what: string,
    read: (until: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> => {
    progress(`reading ${what} over IPMI`);
    try {
      return await read(bound);
    } catch (thrown) {
      signal.throwIfAborted();
      if (bound.aborted) unread.push(what);
      const error = BmcError.from(thrown);
      log.debug({ reason: error.message }, `${what} not recorded`);
      return undefined;
    }
  };
  try {
    await client.open(bound);
    await attempt("the device", (until) => client.getInfo(until));
    await attempt("power", (until) => client.getPower(until));
    await attempt("the power policy", (until) => client.getRestorePolicy(until));
    await attempt("the cause of the restart", (until) => client.check("powerhistory", until));
    await attempt("the power limit", (until) => client.getPowerLimit(until));
    const { host, requestTimeoutMs, ipmi } = connection;
    // A BMC may be silent outside sessions.
    const timeoutMs = Math.min(requestTimeoutMs, SUITES_MS);
    const received = (bytes: number) => budget.spend(bytes);
    const cipherSuites = await attempt("cipher suites", (until) =>
      readOfferedSuites({ host, port: ipmi.port, timeoutMs, clock: systemClock, received }, until),
    );
    const bootFlags = await attempt("boot options", (until) => client.getBoot(until));
    const hardware = await attempt("the FRU", (until) => client.getHardware(until));
    const users = (await attempt("users", (until) => client.listUsers(until))) ?? [];
    const networks = (await attempt("the network", (until) => client.listNetwork(until))) ?? [];
    await attempt("the event log", (until) => client.listSel(until, { sensorNames: true }));
    await attempt("sensors", (until) => client.getSensors(until));
    return { commands, users, networks, hardware, bootFlags, cipherSuites, unread };
  } finally {
    await client.close();
  }
}

const [CHASSIS, APP, SENSOR, STORAGE] = [0x00, 0x06, 0x04, 0x0a];
const RECORD_BYTES = 16;

/** A reading without anything that identifies the machine. It contains raw bytes only of other values. */
export function anonymousIpmi(reading: IpmiReading, anonymiser: Anonymiser): RecordedIpmi {
  const { commands, users, networks, hardware, bootFlags, cipherSuites } = reading;
  const device = commands.find(({ netFn, code, answer }) => netFn === APP && code === 0x01 && answer);
  const [network] = networks;
  const { system, chassis, mainboard } = hardware ?? {};
  const fru = {
    vendor: anonymiser.value(system?.vendor, "Manufacturer"),
    model: anonymiser.value(system?.model, "Model"),
    serial: anonymiser.value(system?.serial, "SerialNumber"),
    boardSerial: anonymiser.value(mainboard?.serial, "SerialNumber"),
    chassisSerial: anonymiser.value(chassis?.serial, "SerialNumber"),
  };
  return definedOnly({
    deviceId: plainAnswer(device),
    cipherSuites: cipherSuites && hex(cipherSuites),
    sdr: [...anonymousSdrs(commands, anonymiser).values()].filter(isKnownSdr).map(hex),
    sel: [...recordsOf(commands, (netFn, code) => netFn === STORAGE && code === 0x43).values()]
      .filter((record) => record.length === RECORD_BYTES)
      .map((record) => hex(knownEvent(record))),
    readings: answersOf(commands, SENSOR, 0x2d),
    thresholds: answersOf(commands, SENSOR, 0x27),
    fru: definedOnly(fru),
    users: users
      .filter(({ name, unread }) => name !== "" && unread === undefined)
      .map(({ name, role, enabled }) => ({
        name: String(anonymiser.value(name, "UserName")),
        role,
        enabled,
      })),
    network: network && {
      ...definedOnly({
        mac: anonymiser.value(network.mac, "MACAddress"),
        address: anonymiser.value(network.address, "Address"),
        gateway: anonymiser.value(network.gateway, "Gateway"),
        hostName: anonymiser.value(network.hostName, "HostName"),
        mode: network.mode,
        prefix: network.prefix,
        vlan: network.vlan === "off" ? 0 : network.vlan,
      }),
    },
    chassis: chassisAnswer(commands, 0x01),
    restart: chassisAnswer(commands, 0x07),
    boot: bootFlags && definedOnly({ ...bootFlags }),
    refused: refusalsOf(commands),
  }) as RecordedIpmi;
}

/** Answers by the first byte of the request. */
function answersOf(commands: readonly TappedIpmi[], netFn: number, code: number) {
  const found = commands.flatMap((one) =>
    one.netFn === netFn && one.code === code && one.completionCode === 0 && one.data && one.answer
      ? [[String(one.data[0]), plainAnswer(one)] as const]
      : [],
  );
  return Object.fromEntries(found);
}

function plainAnswer(one: TappedIpmi | undefined): string | undefined {
  const kept = one?.answer && keptAnswer(one, one.answer);
  return kept && hex(kept);
}

function chassisAnswer(commands: readonly TappedIpmi[], command: number): string | undefined {
  const found = commands.find(
    ({ netFn, code, completionCode }) => netFn === CHASSIS && code === command && completionCode === 0,
  );
  return plainAnswer(found);
}

/** Completion codes of commands that the BMC never supports. */
const NEVER: readonly (number | undefined)[] = [0xc1, 0xc2, 0xd6];

/** Commands that the BMC refused and never carried out. */
function refusalsOf(commands: readonly TappedIpmi[]): Record<string, number> | undefined {
  const carriedOut = new Set(
    commands.filter(({ completionCode }) => completionCode === 0).map(({ command }) => command),
  );
  const refused = commands.filter(
    ({ command, completionCode }) => NEVER.includes(completionCode) && !carriedOut.has(command),
  );
  const entries = refused.map(({ command, completionCode }) => [command, completionCode ?? 0] as const);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function definedOnly(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
