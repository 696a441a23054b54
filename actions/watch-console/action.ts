import { RE2JS } from "re2js";
import type { LinePattern } from "../../shared/bmc/operations/console.ts";
import { textOf } from "../../shared/text-of.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import { boolean, duration, text } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

/**
 * Compiles a regular expression that matches in linear time, because lines come from the machine and patterns from
 * templates. Throws if it is invalid.
 */
function linePattern(source: string): LinePattern {
  const expression = RE2JS.compile(source);
  return { source, test: (line) => expression.matcher(line).find() };
}

/** Returns why the text is not a pattern, or undefined if it is one. */
function patternProblem(source: string): string | undefined {
  try {
    linePattern(source);
    return undefined;
  } catch (thrown) {
    return textOf(thrown);
  }
}

const PATTERN = {
  pattern: /^\P{Cc}{1,200}$/u,
  expected: "must be a regular expression of at most 200 characters, on one line",
};

export default defineAction({
  name: "watch-console",
  summary: "Watch a machine's serial console until a line matches",
  idempotent: true,
  input: {
    until: text({
      env: "UNTIL",
      description: "Regular expression (RE2) of the line to wait for, such as iPXE initialising",
      required: true,
      ...PATTERN,
    }),
    failOn: text({
      env: "FAIL_ON",
      description: "Regular expression (RE2) of a line at which to fail at once, such as No bootable device",
      ...PATTERN,
    }),
    untilTimeout: duration({
      env: "UNTIL_TIMEOUT",
      description: "How long to wait for the line; TIMEOUT also applies",
      default: "10m",
    }),
    takeOver: boolean({
      env: "TAKE_OVER",
      description: "Whether to end another session that has the console open, instead of failing",
      default: "false",
    }),
  },
  check: ({ until, failOn }, nameInput) =>
    Object.entries({ UNTIL: until, FAIL_ON: failOn }).flatMap(([name, source]) => {
      const problem = source === undefined ? undefined : patternProblem(source);
      return problem === undefined ? [] : [`${nameInput(name)} is not a regular expression: ${problem}`];
    }),
  run: async ({ bmc, dryRun, input, redact, progress, signal }): Promise<ActionReport> => {
    const { until, failOn, untilTimeout, takeOver } = input;
    if (dryRun) {
      const { before, steps } = await bmc.planConsole(takeOver, signal);
      return reportPlan(
        { before: undefined, steps },
        before === undefined ? "" : `console in use by ${before}`,
      );
    }
    const redacted = redact.lines();
    const { pattern, line, lines, changed, summary } = await bmc.watchConsole(
      {
        until: linePattern(until),
        failOn: failOn === undefined ? undefined : linePattern(failOn),
        timeoutMs: untilTimeout,
        takeOver,
        redact: (text) => redacted.take(text),
        onProgress: (summary, changed) => progress({ summary, changed }),
      },
      signal,
    );
    return { changed, data: { pattern, line, lines }, summary };
  },
});
