import { exitCodeOf, type StopSignal } from "../../shared/contract/exit-code.ts";
import { formatData } from "../../shared/data-format.ts";
import type { Problem } from "../../shared/document/problem.ts";
import { problemReport } from "../document/problem-report.ts";
import type { Finding } from "../findings/finding.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import { composeChecks } from "./checks.ts";
import { readDoctorOptions } from "./doctor-options.ts";
import { examine } from "./examine.ts";
import { explainOwnLoopback, isInContainer } from "./own-loopback.ts";
import { lineStyleFor, renderCounts, renderFinding } from "./render-report.ts";
import { reportOf } from "./report.ts";
import { runChecks } from "./run-checks.ts";

const COMMAND = "pbnj-worker doctor";

/**
 * Runs `pbnj-worker doctor`. Resolves to the exit code: 0 without a problem, otherwise that of the first problem's class (1
 * if it has none), 2 for invalid flags, 130 or 143 after a signal.
 */
export async function doctor(
  flags: Readonly<Record<string, unknown>>,
  unknown: readonly Problem[],
  own: SelfProgram,
): Promise<number> {
  const { bmc, image, output, selector, timeout, ...settingFlags } = flags;
  const { options, problems } = readDoctorOptions({ bmc, image, output, selector, timeout });
  const wrong = [...unknown, ...problems];
  if (wrong.length > 0) {
    process.stderr.write(problemReport(COMMAND, wrong));
    return exitCodeOf("usage");
  }
  const stop = stopSignal();
  const style = lineStyleFor(process.stdout, process.env);
  const found: Finding[] = [];
  const isText = options.output === "text";
  const explained = isInContainer() ? explainOwnLoopback : (finding: Finding) => finding;
  // A reader such as `head` may close the pipe early.
  process.stdout.on("error", () => undefined);
  try {
    const checks = composeChecks(examine(settingFlags, process.env, own.library.names()), options, own);
    await runChecks(
      checks,
      (findings) => {
        for (const finding of findings.map(explained)) {
          found.push(finding);
          if (isText) process.stdout.write(renderFinding(finding, style));
        }
      },
      stop.signal,
    );
  } catch (thrown) {
    const by = stop.by();
    if (by === undefined) throw thrown;
    process.stderr.write(`${COMMAND}: stopped by ${by}\n`);
    return exitCodeOf("cancelled", by);
  }
  const report = reportOf(found);
  const last =
    options.output === "text" ? renderCounts(report.counts) : await formatData(options.output, report);
  await new Promise((resolve) => process.stdout.write(last, resolve));
  return report.exitCode;
}

/**
 * Returns a signal that aborts all checks on the first SIGINT or SIGTERM, so that they clean up. The second one ends the
 * process.
 */
function stopSignal(): { readonly signal: AbortSignal; by(): StopSignal | undefined } {
  const controller = new AbortController();
  let received: StopSignal | undefined;
  const onSignal = (signal: StopSignal) => {
    if (received) process.exit(exitCodeOf("cancelled", signal));
    received = signal;
    controller.abort(new Error(`stopped by ${signal}`));
  };
  process.on("SIGTERM", () => onSignal("SIGTERM"));
  process.on("SIGINT", () => onSignal("SIGINT"));
  return { signal: controller.signal, by: () => received };
}
