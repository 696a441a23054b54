import type { Clock } from "../../../../clock.ts";
import { count } from "../../../../count.ts";
import { type FoundEvent, knownTime, type PowerEventKind } from "../../../operations/power-events.ts";
import type {
  EventsRequest,
  FoundEvents,
  PowerFacts,
  PowerHistoryDriver,
} from "../../../operations/powerhistory.ts";
import type { Unread } from "../../../operations/unread.ts";
import { type Answer, type CommandChannel, dataOf, PartRefusals } from "../commands/channel.ts";
import {
  GET_CHASSIS_STATUS,
  GET_SYSTEM_RESTART_CAUSE,
  parseChassisStatus,
  parseLastPowerEvent,
  parseRestartCause,
} from "../commands/chassis.ts";
import { describeRecord } from "../records/describe-record.ts";
import { eventSensors } from "../records/event-sensors.ts";
import type { SdrRepository } from "../records/sdr-repository.ts";
import type { SelRecord, SystemEvent } from "../records/sel-record.ts";
import { SENSOR_SPECIFIC_EVENT } from "../records/sensor-events.ts";
import type { IpmiSel } from "./sel-driver.ts";

const LOG = "SEL";

/** Why the machine restarted, from the chassis status and the system event log. IPMI does not count boots. */
export class IpmiPowerHistory implements PowerHistoryDriver {
  readonly #channel: CommandChannel;
  readonly #clock: Clock;
  readonly #sel: IpmiSel;
  readonly #sensors: SdrRepository;

  constructor(channel: CommandChannel, clock: Clock, sel: IpmiSel, sensors: SdrRepository) {
    this.#channel = channel;
    this.#clock = clock;
    this.#sel = sel;
    this.#sensors = sensors;
  }

  async facts(signal: AbortSignal): Promise<PowerFacts> {
    const commands = [GET_CHASSIS_STATUS, GET_SYSTEM_RESTART_CAUSE];
    const [status, restart] = await this.#channel.run(commands, signal);
    const unread: Unread[] = [];
    const cause = readAnswer(restart, parseRestartCause, unread);
    const power = readAnswer(status, parseChassisStatus, unread);
    // An answer that contains the power may end before this.
    const lastPowerEvent = power === undefined ? undefined : readAnswer(status, parseLastPowerEvent, unread);
    return {
      ...(power !== undefined && { power }),
      ...(cause !== undefined && { lastReset: { cause, source: GET_SYSTEM_RESTART_CAUSE.name } }),
      ...(lastPowerEvent && lastPowerEvent.length > 0 && { lastPowerEvent }),
      unread,
    };
  }

  async events({ sensorNames }: EventsRequest, signal: AbortSignal): Promise<FoundEvents> {
    try {
      return await this.#events(sensorNames, signal);
    } catch (thrown) {
      return { logs: [], unread: [{ name: LOG, reason: new PartRefusals().of(thrown).message }] };
    }
  }

  async #events(sensorNames: boolean, signal: AbortSignal): Promise<FoundEvents> {
    const { records, gaps, overflowed } = await this.#sel.records(signal);
    const about = records.flatMap((record) => {
      const kind = record.kind === "system" ? kindOf(record) : undefined;
      return kind === undefined ? [] : [{ record, kind }];
    });
    const named = about.map(({ record }) => record);
    const sensors = sensorNames ? await eventSensors(named, this.#sensors, this.#clock, signal) : undefined;
    const makers = records.filter(({ kind }) => kind === "oem").length;
    const oem = `${count(makers, "record")} in a format of the BMC's maker`;
    return {
      logs: [about.map(({ record, kind }) => foundEvent(record, kind, sensors?.get(record)))],
      unread: [
        ...gaps.map(({ message }) => ({ name: LOG, reason: message.replace(/^not read: /, "") })),
        ...(overflowed ? [{ name: LOG, reason: "it is full, and later records were dropped" }] : []),
        ...(makers > 0 ? [{ name: LOG, reason: oem }] : []),
      ],
    };
  }
}

function readAnswer<T>(
  answer: Answer | undefined,
  parse: (data: Buffer) => T,
  unread: Unread[],
): T | undefined {
  if (!answer) return undefined;
  try {
    return parse(dataOf(answer));
  } catch (thrown) {
    const name = answer.command.name;
    unread.push({ name, reason: new PartRefusals().of(thrown).message.replace(`${name}: `, "") });
    return undefined;
  }
}

function foundEvent(
  record: SelRecord,
  kind: PowerEventKind,
  sensor: Parameters<typeof describeRecord>[1],
): FoundEvent {
  const { at, severity, message } = describeRecord(record, sensor);
  const time = at === undefined ? undefined : knownTime(Date.parse(at));
  const proves = record.kind === "system" ? proofOf(record) : undefined;
  const isUnset = at !== undefined && time === undefined;
  return {
    ...(time !== undefined && { time }),
    kind,
    message: isUnset ? `${message} (the BMC's clock was at ${at})` : message,
    ...(severity && { severity }),
    source: LOG,
    ...(proves && { proves }),
  };
}

const POWER_SUPPLY = 0x08;
const POWER_UNIT = 0x09;
const WATCHDOG_1 = 0x11;
const SYSTEM_EVENT = 0x12;
const BUTTON = 0x14;
const RESTART = 0x1d;
const BOOT_ERROR = 0x1e;
const OS_BOOT = 0x1f;
const OS_STOP = 0x20;
const ACPI_STATE = 0x22;
const WATCHDOG_2 = 0x23;

/** Kinds by sensor type (IPMI 2.0 table 42-3). */
const KINDS: Readonly<Record<number, PowerEventKind>> = {
  [POWER_SUPPLY]: "supply",
  [POWER_UNIT]: "power",
  [WATCHDOG_1]: "watchdog",
  [RESTART]: "reset",
  [BOOT_ERROR]: "boot",
  [OS_BOOT]: "boot",
  [OS_STOP]: "shutdown",
  [ACPI_STATE]: "power",
  [WATCHDOG_2]: "watchdog",
};

/** Events by offset, for sensor types whose other events are not about power. */
const KINDS_BY_OFFSET: Readonly<Record<number, Readonly<Record<number, PowerEventKind>>>> = {
  [SYSTEM_EVENT]: { 1: "boot", 4: "reset" },
  [BUTTON]: { 0: "power", 1: "power", 2: "reset" },
};

/** The kind of an event; undefined if it explains no restart. */
function kindOf(event: SystemEvent): PowerEventKind | undefined {
  const byOffset = KINDS_BY_OFFSET[event.sensorType];
  const kind = byOffset ? byOffset[offsetOf(event)] : KINDS[event.sensorType];
  if (kind !== undefined) return kind;
  return describeRecord(event).severity === "critical" ? "fault" : undefined;
}

/** Events that are logged when a machine starts or restarts, by sensor type and offset; `off` means the end of that state. */
const RESTARTS: Readonly<Record<number, Readonly<Record<number, "asserted" | "off">>>> = {
  [POWER_UNIT]: { 0: "off", 1: "asserted" },
  [WATCHDOG_1]: { 0: "asserted", 1: "asserted", 4: "asserted" },
  [SYSTEM_EVENT]: { 1: "asserted" },
  [BUTTON]: { 2: "asserted" },
  [RESTART]: { 0: "asserted", 1: "asserted", 2: "asserted", 5: "asserted", 6: "asserted", 7: "asserted" },
  [ACPI_STATE]: { 0: "asserted", 11: "asserted" },
  [WATCHDOG_2]: { 1: "asserted", 3: "asserted" },
};

function proofOf(event: SystemEvent): FoundEvent["proves"] {
  const { sensorType, eventType, asserted } = event;
  if (eventType !== SENSOR_SPECIFIC_EVENT) return undefined;
  const when = RESTARTS[sensorType]?.[offsetOf(event)];
  if (when !== undefined && asserted === (when === "asserted")) return "restart";
  return sensorType === OS_BOOT && asserted && offsetOf(event) <= LAST_BOOT ? "boot" : undefined;
}

/** Later offsets belong to an installation. */
const LAST_BOOT = 6;

function offsetOf({ data }: SystemEvent): number {
  return data[0] & 0x0f;
}
