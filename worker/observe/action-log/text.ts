import { formatSeconds } from "../../../shared/duration.ts";
import { isTooDeep } from "../../../shared/json-depth.ts";
import { printable, shortened } from "../../../shared/printable.ts";
import { version } from "../../../shared/version.ts";
import type { Delivery, LogLine, Outcome } from "../../action/action.ts";
import type { ActionEvent } from "../../action/observer.ts";
import { readLogLine } from "../../runtime/log-line.ts";

type Started = ActionEvent & { readonly kind: "started" };

/** What comes from the server may be of any length. */
const LONGEST_VALUE = 300;
/** An action's line is 16 KiB at most before what cannot be printed is spelled out. */
const LONGEST_LINE = 20 * 1024;
/** An action's clock and the worker's differ by less than this, unless the line is told again later. */
const SAME_TIME_MS = 1_000;

/** What a file begins with: what it is the log of. Lines of the worker begin with `#`, the action's with a time. */
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

/** A structured line is written as text and what it says besides as JSON; any other stays as it is. */
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
  return `${spelledOut(`${at.toISOString()} ${by} ${told}`)}\n`;
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
  rejected: "report rejected by the server",
  unanswered: "report not acknowledged before the worker stopped",
};

export function deliveryText(delivery: Delivery, at: Date): string {
  return noteText(`${at.toISOString()} ${DELIVERIES[delivery]}`);
}

/** In the place of lines that gave way before the disk took them. */
export function lostText(lines: number): string {
  return noteText(`${lines === 1 ? "1 line is" : `${lines} lines are`} missing here: disk too slow`);
}

/** One line of the worker's own. */
export function noteText(text: string): string {
  return `# ${spelledOut(text)}\n`;
}

function pairs(named: readonly (readonly string[])[]): string {
  return named.map(([name = "", value = ""]) => `${name}=${quoted(value)}`).join(" ");
}

function quoted(value: string): string {
  const cut = value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value;
  return /^[^\s"=]+$/.test(cut) ? cut : JSON.stringify(cut);
}

/** A file that is shown on a terminal must not command it: what cannot be printed is spelled out, but for tabs. */
function spelledOut(text: string): string {
  return shortened(text.split("\t").map(printable).join("\t"), LONGEST_LINE);
}
