import { formatSeconds } from "../../../shared/duration.ts";
import { isTooDeep } from "../../../shared/json-depth.ts";
import { printable, shortened } from "../../../shared/printable.ts";
import { version } from "../../../shared/version.ts";
import type { Delivery, LogLine, Outcome } from "../../core/action/action.ts";
import { readLogLine } from "../../core/action/log-line.ts";
import type { ActionEvent } from "../../core/action/observer.ts";

type Started = ActionEvent & { readonly kind: "started" };

/** Values from the server may have any length. */
const MAX_VALUE = 300;
/** A line of an action has at most 16 KiB before control characters are escaped. */
const MAX_LINE = 20 * 1024;
/** Clocks of an action and the worker differ by less than this, unless a line is delivered late. */
const SAME_TIME_MS = 1_000;

/** The first lines of a file. The worker's own lines start with `#`, the action's with a time. */
export function headerText({ action, machine, runtime, startedAt, timeoutMs }: Started): string {
  const { workflowId, taskId, name, agentId, actionId, image } = action;
  const who = [
    ["workflow", workflowId],
    ["task", taskId],
    ["action", name],
    ...(machine === undefined ? [] : [["machine", machine]]),
    ["agentId", agentId],
    ["actionId", actionId],
  ];
  const how = [
    ["image", image],
    ["runtime", runtime],
    ["started", startedAt.toISOString()],
    ["timeout", formatSeconds(timeoutMs)],
    ["worker", `pbnj-worker ${version}`],
  ];
  return `${noteText(pairs(who))}${noteText(pairs(how))}`;
}

/** A structured line becomes text followed by its other fields as JSON; other lines stay as they are. */
export function lineText({ stream, line }: LogLine, at: Date, hook?: string): string {
  const { severity, message, fields, structured, time } = readLogLine(line);
  const { action: _action, machine: _machine, ...rest } = fields;
  const late = time !== undefined && Math.abs(time.getTime() - at.getTime()) > SAME_TIME_MS;
  const besides = late ? { time: time.toISOString(), ...rest } : rest;
  const told = isTooDeep(fields)
    ? line
    : structured
      ? `${severity.padEnd(5)} ${message}${Object.keys(besides).length > 0 ? ` ${JSON.stringify(besides)}` : ""}`
      : message;
  const by = hook === undefined ? stream : `${stream} ${hook}`;
  return `${escaped(`${at.toISOString()} ${by} ${told}`)}\n`;
}

export function outcomeText(
  { ok, class: errorClass, exitCode, message, stoppedAt }: Outcome,
  startedAt: Date,
): string {
  const facts = [
    ...(errorClass === undefined ? [] : [errorClass]),
    ...(exitCode === undefined ? [] : [`exit ${exitCode}`]),
  ];
  const about = facts.length > 0 ? ` (${facts.join(", ")})` : "";
  const duration = formatSeconds(Math.max(0, stoppedAt.getTime() - startedAt.getTime()));
  return noteText(
    `ended ${stoppedAt.toISOString()} after ${duration}: ${ok ? "succeeded" : "failed"}${about}: ${message}`,
  );
}

const DELIVERIES: Readonly<Record<Delivery, string>> = {
  acknowledged: "report acknowledged by the server",
  rejected: "report rejected by the server, to be repeated",
  dropped: "report dropped: no workflow waits for it",
  unanswered: "report not acknowledged by the server",
};

export function deliveryText(delivery: Delivery, at: Date): string {
  return noteText(`${at.toISOString()} ${DELIVERIES[delivery]}`);
}

/** The line that replaces lines which were dropped because the disk was too slow. */
export function lostText(lines: number): string {
  return noteText(`${lines === 1 ? "1 line is" : `${lines} lines are`} missing here: disk too slow`);
}

/** A line of the worker itself. */
export function noteText(text: string): string {
  return `# ${escaped(text)}\n`;
}

function pairs(named: readonly (readonly string[])[]): string {
  return named.map(([name = "", value = ""]) => `${name}=${quoted(value)}`).join(" ");
}

function quoted(value: string): string {
  const cut = value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE)}…` : value;
  return /^[^\s"=]+$/.test(cut) ? cut : JSON.stringify(cut);
}

/** Escapes control characters except tabs, because the file may be shown on a terminal. */
function escaped(text: string): string {
  return shortened(text.split("\t").map(printable).join("\t"), MAX_LINE);
}
