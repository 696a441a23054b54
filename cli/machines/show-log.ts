import { progressOf } from "../../shared/contract/progress.ts";
import { isLogged, type LogLevel } from "../../shared/logger.ts";
import { printable } from "../../shared/printable.ts";
import { hiddenProgress, openProgressLines, type ProgressLines } from "../../shared/progress-lines.ts";
import { readLogLine } from "../../worker/core/action/log-line.ts";
import type { Format } from "./show-results.ts";

export interface ActionsLog {
  readonly lines: ProgressLines;
  /** What the actions have to log. */
  readonly level: LogLevel;
  /** Takes a line of a machine's action. */
  add(machine: string, line: string): void;
}

/** Shows the actions' progress, and writes warnings and errors, or what `asked` says, to stderr. JSON results have JSON progress. */
export function openActionsLog(format: Format, asked: LogLevel | undefined): ActionsLog {
  const { stderr } = process;
  const isWanted = stderr.isTTY || isLogged("info", asked ?? "info");
  const isJson = format === "json" && !stderr.isTTY;
  const lines = isWanted && !isJson ? openProgressLines(stderr) : hiddenProgress();
  return {
    lines,
    level: asked === "debug" ? "debug" : "info",
    add(machine, line) {
      const { severity, message, fields } = readLogLine(line);
      const progress = progressOf(message, fields);
      if (progress) lines.show(machine, progress);
      const isShown = progress ? isWanted && isJson : isLogged(severity, asked ?? "warn");
      if (isShown) lines.above(() => stderr.write(`${printable(line)}\n`));
    },
  };
}
