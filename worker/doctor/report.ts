import { z } from "zod";
import { ErrorClass } from "../../shared/contract/error-class.ts";
import { EXIT_OK, exitCodeOf } from "../../shared/contract/exit-code.ts";
import { version } from "../../shared/version.ts";
import { CAUSE_NAMES, CHECK_NAMES } from "../findings/causes.ts";
import { FINDING_STATES, type Finding, type FindingState } from "../findings/finding.ts";

/** The exit code for a problem without an error class. */
const EXIT_PROBLEM = 1;

const Count = z.int().min(0);

/** The output of `--output json`: one object. Absent values are null. */
export const DoctorReport = z.strictObject({
  version: z.string().describe("Of pbnj-worker"),
  ok: z.boolean().describe("Whether there is no problem; warnings do not count"),
  exitCode: z.int().describe("The exit code of the command"),
  counts: z
    .strictObject({ problem: Count, warning: Count, skipped: Count, ok: Count })
    .describe("Number of findings per state"),
  findings: z
    .array(
      z.strictObject({
        check: z.enum(CHECK_NAMES).describe("What was checked"),
        state: z
          .enum(FINDING_STATES)
          .describe(
            "Skipped means that another check must pass first, that the check was not requested, or that the machine is paused",
          ),
        subject: z
          .string()
          .nullable()
          .describe("A machine, a line of a file or an address, if a check covers several"),
        detail: z.string().describe("What was found, in one line"),
        cause: z.enum(CAUSE_NAMES).nullable().describe("The cause of a problem or warning, for programs"),
        remedy: z.string().nullable().describe("How to fix it, in one line"),
        class: z
          .enum(ErrorClass.options)
          .nullable()
          .describe("The error class of a problem, if any; it determines the exit code"),
      }),
    )
    .describe("In the order of the checks; machines with problems first"),
});
export type DoctorReport = z.infer<typeof DoctorReport>;

export function reportOf(findings: readonly Finding[]): DoctorReport {
  const exitCode = exitCodeFor(findings);
  const inState = (state: FindingState) => findings.filter((finding) => finding.state === state).length;
  return {
    version,
    ok: exitCode === EXIT_OK,
    exitCode,
    counts: {
      problem: inState("problem"),
      warning: inState("warning"),
      skipped: inState("skipped"),
      ok: inState("ok"),
    },
    findings: findings.map(({ check, state, subject, detail, cause, remedy, class: errorClass }) => ({
      check,
      state,
      subject: subject ?? null,
      detail,
      cause: cause ?? null,
      remedy: remedy ?? null,
      class: errorClass ?? null,
    })),
  };
}

/** The exit code of the first problem. */
function exitCodeFor(findings: readonly Finding[]): number {
  const first = findings.find(({ state }) => state === "problem");
  if (!first) return EXIT_OK;
  return first.class === undefined ? EXIT_PROBLEM : exitCodeOf(first.class);
}
