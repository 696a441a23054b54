import type { Seen } from "./failure.ts";

export const TROUBLESHOOTING_PAGE = "docs/reference/troubleshooting.md";

/** The output of a failure as the manual shows it. */
export function renderSeen({ status, log, terminal }: Seen): string {
  const parts: string[] = [];
  if (terminal) {
    const { command, text, exitCode } = terminal;
    parts.push(
      `On the terminal, which ends with exit code ${exitCode}:`,
      fence("text", `$ ${command}\n${text}`),
    );
  }
  if (status) {
    const line = `${status.action}  ${status.state}  ${status.message}`;
    parts.push("In the workflow's status:", fence("text", line));
  }
  if (log) {
    const lines = log.map((record) => JSON.stringify(record)).join("\n");
    parts.push("In the worker's log:", fence("json", lines));
  }
  return parts.join("\n\n");
}

function fence(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

/** What the page shows now of each failure, by name. */
export function shownOutputs(page: string): ReadonlyMap<string, string> {
  const found = [...page.matchAll(/<!-- output of ([\w-]+) -->\n\n(.*?)\n\n<!-- end of \1 -->/gs)];
  return new Map(found.map(([, name = "", output = ""]) => [name, output]));
}

/** The page with the output of one failure made anew. Throws when the page has no place for it. */
export function withOutput(page: string, name: string, output: string): string {
  const marks = new RegExp(`(<!-- output of ${name} -->\n\n).*?(<!-- end of ${name} -->)`, "s");
  if (!marks.test(page)) throw new Error(`${TROUBLESHOOTING_PAGE} has no place for the output of ${name}`);
  return page.replace(marks, (_, start: string, end: string) => `${start}${output}\n\n${end}`);
}
