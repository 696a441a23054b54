import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Finding } from "../../../worker/doctor/finding.ts";
import { DoctorReport } from "../../../worker/doctor/report.ts";
import { runProgram } from "../../cli/program.ts";

export type Reported = DoctorReport["findings"][number];

/** A folder of the operator's, and the doctor on it. */
export async function doctorLab() {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-doctor-"));
  const state = join(folder, "state");

  /** Runs it for people; nothing of it reaches outside of the folder. */
  const run = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runProgram(["doctor", "--state-directory", state, ...argv], { HOME: folder, ...env });

  return {
    folder,
    state,
    run,
    /** Writes a file, an object as JSON, which is YAML; gives back its path. */
    async write(name: string, content: unknown, mode = 0o600): Promise<string> {
      const path = join(folder, name);
      await writeFile(path, typeof content === "string" ? content : JSON.stringify(content, undefined, 2));
      await chmod(path, mode);
      return path;
    },
    /** What it reports as JSON. */
    async report(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
      const { stdout, stderr, exitCode } = await run([...argv, "--output", "json"], env);
      if (!stdout) throw new Error(`no report: ${stderr}`);
      const report = DoctorReport.parse(JSON.parse(stdout));
      return {
        ...report,
        endedWith: exitCode,
        stdout,
        stderr,
        of: (check: Finding["check"]) => of(report, check),
      };
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

function of(report: DoctorReport, check: Finding["check"]): readonly Reported[] {
  return report.findings.filter((finding) => finding.check === check);
}
