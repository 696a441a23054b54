import type { LogRecord, Seen } from "./failure.ts";

export const TROUBLESHOOTING_PAGE = "docs/reference/troubleshooting.md";

const LEVELS: Readonly<Record<string, string>> = { 20: "DEBUG", 30: "INFO", 40: "WARN", 50: "ERROR" };
/** The page is not about one workflow. */
const LEFT_OUT = new Set(["level", "time", "msg", "workflow", "task", "action", "agentId", "machine"]);

/** The output of a failure as the manual shows it: of a command, then the workflow's message, then the log as text. */
export function renderSeen({ status, log = [], terminal }: Seen): string {
  const lines = [
    ...(terminal ? [`$ ${terminal.command}\n${terminal.text}`, `exit code ${terminal.exitCode}`] : []),
    ...(status ? [status.state === "FAILED" ? status.message : `${status.state}  ${status.message}`] : []),
    ...log.map(logLine),
  ];
  return `\`\`\`text\n${lines.join("\n")}\n\`\`\``;
}

function logLine(record: LogRecord): string {
  const fields = Object.entries(record).filter(([name]) => !LEFT_OUT.has(name));
  const shown = fields.map(([name, value]) => `${name}=${isPlain(value) ? value : JSON.stringify(value)}`);
  return [LEVELS[String(record["level"])], record["msg"], ...shown].join("  ");
}

function isPlain(value: unknown): value is string {
  return typeof value === "string" && /^[!#-~]*$/.test(value);
}

/** What the page shows now of each failure, by name. */
export function shownOutputs(page: string): ReadonlyMap<string, string> {
  const found = [...page.matchAll(/<!-- output of ([\w-]+) -->\n\n(```text\n.*?\n```)$/gms)];
  return new Map(found.map(([, name = "", output = ""]) => [name, output]));
}

/** The page with the output of one failure made anew. Throws when the page has no place for it. */
export function withOutput(page: string, name: string, output: string): string {
  const shown = new RegExp(`(<!-- output of ${name} -->\n\n)\`\`\`text\n.*?\n\`\`\`$`, "ms");
  if (!shown.test(page)) throw new Error(`${TROUBLESHOOTING_PAGE} has no place for the output of ${name}`);
  return page.replace(shown, (_, mark: string) => `${mark}${output}`);
}
