import * as z from "zod/mini";
import { defined } from "../../../../defined.ts";
import { type FoundEvent, knownTime, type PowerEventKind } from "../../../operations/power-events.ts";
import { samePath } from "../service/paths.ts";
import { Link, lenient } from "../service/schema.ts";

/** The fields of a LogEntry (DSP0268) about power. */
export const LogEvent = z.object({
  Created: lenient(z.string()),
  EventTimestamp: lenient(z.string()),
  Severity: lenient(z.string()),
  Message: lenient(z.string()),
  MessageId: lenient(z.string()),
  SensorType: lenient(z.string()),
  EntryCode: lenient(z.union([z.string(), z.array(z.object({ Member: lenient(z.string()) }))])),
  Links: lenient(z.object({ OriginOfCondition: lenient(Link) })),
});
export type LogEvent = z.infer<typeof LogEvent>;

const OS_BOOT = "baseosbootinstallationstatus";

/** Kinds by sensor type, which MegaRAC writes without spaces (DSP0268, LogEntry.SensorType). */
const SENSOR_TYPES: Readonly<Record<string, PowerEventKind>> = {
  powersupplyconverter: "supply",
  powersupply: "supply",
  powerunit: "power",
  watchdog1: "watchdog",
  watchdog2: "watchdog",
  buttonswitch: "power",
  systembootrestartinitiated: "reset",
  booterror: "boot",
  [OS_BOOT]: "boot",
  osstopshutdown: "shutdown",
  systemacpipowerstate: "power",
};

/** Entries about settings, other controllers or the past, whose wording others use for restarts. */
const OTHER_SUBJECTS: readonly RegExp[] = [
  /\b(secure ?boot|one[- ]time boot|boot (order|override|options?|devices?|sources?|mode|setup|count))\b/i,
  /\b(bmc|ilo|idrac|xcc|irmc|cmc|(management|chassis|switch|service) (controller|processor)|flash|gpu|nic|fpga)\b[^.]{0,40}\b(re-?set|re-?boot|re-?start|shut ?down)/i,
  /\b(erase and reset|reset job|virtual media|prior to|jumper|password)\b/i,
];

/** Subjects by the wording of an entry; the first match counts. */
const WORDS: readonly (readonly [RegExp, PowerEventKind])[] = [
  [/\bwatch-?dog\b|\bautomatic (server|system) recovery\b/i, "watchdog"],
  [/\bpower suppl(y|ies)\b|\bpsu[ _-]?\d*\b|\bps\d+ status\b|\bpower cord\b|\bpower input\b/i, "supply"],
  [
    /\b(system|server|host|machine|node|cpu|platform|chassis)\b.{0,40}\b(re-?set(ting)?|re-?boot(ed|ing)?|re-?start(ed|ing)?)\b/i,
    "reset",
  ],
  [
    /\b(hard|warm|cold|soft)[ -]?reset\b|\b(reset|reboot|restart)\b.{0,40}\b(system|server|host|machine)\b/i,
    "reset",
  ],
  [
    /\bpower(ed|ing)?[ -]?(on|off|up|down|cycled?|reset)\b|\b(ac|dc|power)\b.{0,20}\b(lost|loss|restored|removed|failure)\b/i,
    "power",
  ],
  [/\bpower (state|status|button|action|restore)\b|\b(turned|turning) (on|off)\b/i, "power"],
  [/\bshut(ting)?[ -]?down\b|\bos (stop|crash|panic)|\bkernel panic\b/i, "shutdown"],
  [
    /\b(system|os|host|server)\b.{0,20}\bboot(ed|ing)?\b|\bno bootable\b|\bboot (completed?|failed|error)\b/i,
    "boot",
  ],
];

const STARTED =
  /\bpower(ed|ing)?[ -]?(on|up|cycled?|reset)\b|\b(turned|turning) on\b|\bpower restored\b|\bto (type )?on\b/i;
const BOOTED = /\bboot(ed)? (complete|completed|success)|\bsystem boot completed\b/i;
/** A request may be refused, and a failure is not a start. */
const NOT_YET = /\b(attempt\w*|request\w*|failed|failure|signal|lost|error)\b/i;

/** Logs of user actions. Their critical entries are not faults of the machine. */
const AUDIT = /audit/i;

/** The subject of an entry appears at its beginning. */
const MOST_CHARACTERS = 1_000;

const SEVERITIES: Readonly<Record<string, NonNullable<FoundEvent["severity"]>>> = {
  ok: "ok",
  warning: "warning",
  critical: "critical",
};

/** Parses an entry of the log `source` as an event of the system at `systemPath`; undefined if it explains no restart. */
export function parseLogEvent(
  entry: LogEvent,
  { source, systemPath }: { readonly source: string; readonly systemPath: string },
): FoundEvent | undefined {
  const message = entry.Message?.trim() || entry.MessageId || "(no message)";
  const words = `${wordsOf(entry.MessageId)} ${entry.Message ?? ""}`.slice(0, MOST_CHARACTERS);
  if (isOfOther(entry, systemPath)) return undefined;
  const severity = SEVERITIES[entry.Severity?.toLowerCase() ?? ""];
  const sensorType = entry.SensorType?.toLowerCase().replace(/[^a-z0-9]/g, "") ?? "";
  const sensorKind = Object.hasOwn(SENSOR_TYPES, sensorType) ? SENSOR_TYPES[sensorType] : undefined;
  const isOther = OTHER_SUBJECTS.some((pattern) => pattern.test(words));
  const worded = isOther ? undefined : WORDS.find(([pattern]) => pattern.test(words))?.[1];
  const isFault = severity === "critical" && !AUDIT.test(source);
  const kind = sensorKind ?? worded ?? (isFault ? "fault" : undefined);
  if (kind === undefined) return undefined;
  const hasEnded = isDeasserted(entry);
  const shown = entry.EventTimestamp ?? entry.Created;
  const time = timeOf(entry.EventTimestamp) ?? timeOf(entry.Created);
  const proves = hasEnded ? undefined : proofOf({ kind, sensorType, words }, systemPath);
  return {
    ...defined({ time, severity: hasEnded ? ("ok" as const) : severity, proves }),
    kind,
    message: [
      // Some messages contain only the bytes of the event.
      /^0x[0-9a-f]+$/i.test(message) && entry.SensorType ? `${entry.SensorType} ${message}` : message,
      hasEnded ? ", ended" : "",
      time === undefined && shown !== undefined ? ` (the BMC's clock was at ${shown})` : "",
    ].join(""),
    source,
  };
}

/** The subject of an entry. */
interface Subject {
  readonly kind: PowerEventKind;
  readonly sensorType: string;
  readonly words: string;
}

/**
 * The words in an ID, such as `Server Reset Detected` for `iLOEvents.3.15.ServerResetDetected`. Vendors' numbers and codes
 * mean nothing.
 */
function wordsOf(messageId: string | undefined): string {
  const key = messageId?.split(".").at(-1) ?? "";
  return /\d/.test(key) ? "" : key.replace(/([a-z])(?=[A-Z])/g, "$1 ");
}

/** Whether the event is about another system behind the BMC. */
function isOfOther({ Message = "", Links }: LogEvent, systemPath: string): boolean {
  const named = [Links?.OriginOfCondition?.["@odata.id"], /\/redfish\/v1\/[\w./-]*\w/.exec(Message)?.[0]];
  const isOwn = (path: string) => samePath(path, systemPath) || path.startsWith(`${systemPath}/`);
  return named.some((path) => path?.includes("/Systems/") && !isOwn(path));
}

function isDeasserted({ EntryCode: code }: LogEvent): boolean {
  const words = typeof code === "string" ? code : code?.map(({ Member = "" }) => Member).join(" ");
  return /^deassert/i.test(words ?? "");
}

function proofOf({ kind, sensorType, words }: Subject, systemPath: string): FoundEvent["proves"] {
  const path = /\/redfish\/v1\/[\w./-]*\w/.exec(words)?.[0];
  // The power of a part is not that of the machine.
  if (path !== undefined && !samePath(path, systemPath)) return undefined;
  if (BOOTED.test(words)) return "boot";
  // The message of such a sensor contains the bytes of the event.
  if (sensorType === OS_BOOT && !/install|fail|abort/i.test(words)) return "boot";
  if (kind === "reset" && !NOT_YET.test(words)) return "restart";
  return kind === "power" && STARTED.test(words) && !NOT_YET.test(words) ? "restart" : undefined;
}

/** Parses a time. Without an offset it is UTC, like the clocks of most BMCs. */
export function timeOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const hasOffset = /(z|[+-]\d\d:?\d\d)$/i.test(text.trim());
  return knownTime(Date.parse(hasOffset ? text.trim() : `${text.trim()}Z`));
}
