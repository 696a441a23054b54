import { printable } from "../../shared/printable.ts";

/** The parts of a line that have their own colour. */
export type LinePart = "time" | "debug" | "info" | "warn" | "error" | "subject" | "facts";
export type Paint = (part: LinePart, text: string) => string;

const unpainted: Paint = (_part, text) => text;

type LogRecord = Readonly<Record<string, unknown>>;

/**
 * A log line for people: time of day, level and message; then machine, action and workflow, as in
 * `node-01 power-off tink/reprovision`; then the other fields as `name=value`. Omits the task and, if there is a machine, the
 * agent ID. Escapes control characters.
 */
export function prettyLine(record: LogRecord, paint: Paint = unpainted): string {
  const { level, time, msg, workflow, task: _task, action, agentId, machine, ...others } = record;
  const severity = severityOf(level);
  const subject = [machine ?? agentId, action, workflow].filter((part) => typeof part === "string");
  const facts = Object.entries(others).map(([name, value]) => `${printable(name)}=${valueText(value)}`);
  const said = [
    printable(typeof msg === "string" ? msg : ""),
    ...(subject.length > 0 ? [paint("subject", subject.map(printable).join(" "))] : []),
    ...(facts.length > 0 ? [paint("facts", facts.join(" "))] : []),
  ];
  const label = severity.toUpperCase().padEnd(5);
  return `${paint("time", timeOfDay(time))} ${paint(severity, label)} ${said.join("  ")}`;
}

function severityOf(level: unknown): "debug" | "info" | "warn" | "error" {
  const number = typeof level === "number" ? level : 30;
  if (number >= 50) return "error";
  if (number >= 40) return "warn";
  return number >= 30 ? "info" : "debug";
}

/** The time of day in the local time zone; empty if there is no time. */
function timeOfDay(time: unknown): string {
  const date = new Date(typeof time === "string" || typeof time === "number" ? time : Number.NaN);
  if (Number.isNaN(date.getTime())) return "";
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

function valueText(value: unknown): string {
  if (typeof value !== "string") return printable(JSON.stringify(value) ?? "");
  return printable(/^[^\s"=\p{Cc}]+$/u.test(value) ? value : JSON.stringify(value));
}
