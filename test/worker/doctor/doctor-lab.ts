import { Command } from "commander";
import { expect } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { defineDoctor } from "../../../worker/commands/define-commands.ts";
import { composeChecks } from "../../../worker/doctor/checks.ts";
import { readDoctorOptions } from "../../../worker/doctor/doctor-options.ts";
import { examine } from "../../../worker/doctor/examine.ts";
import { DoctorReport, reportOf } from "../../../worker/doctor/report.ts";
import { runChecks } from "../../../worker/doctor/run-checks.ts";
import type { Finding } from "../../../worker/findings/finding.ts";
import { PROGRAM, runProgram } from "../../cli/program.ts";
import { type Folder, openFolder } from "../../support/folder.ts";
import { openLab } from "../../support/lab.ts";
import { quickLibrary } from "../../support/quick-actions.ts";

const own = { file: PROGRAM, actions: catalogue, library: quickLibrary };

function flagsOf(argv: readonly string[]): Readonly<Record<string, unknown>> {
  const command = new Command().exitOverride();
  defineDoctor(command, own);
  let flags = {};
  command.action((given) => {
    flags = given;
  });
  command.parse(argv, { from: "user" });
  return flags;
}

type Reported = DoctorReport["findings"][number];

/** A folder of the operator's, and the doctor on it. */
export const doctorLab = async () => doctorOn(await openFolder());

function doctorOn<Place extends Folder>(place: Place) {
  const { folder } = place;
  const state = place.path("state");

  /** Runs the program; nothing of it reaches outside of the folder. */
  const run = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runProgram(["doctor", "--state-directory", state, ...argv], { HOME: folder, ...env });

  return {
    ...place,
    ...{ state, run },
    /** What it reports as JSON, from inside this process. */
    async report(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
      const { bmc, image, output, timeout, ...flags } = flagsOf(["--state-directory", state, ...argv]);
      const { options, problems } = readDoctorOptions({ bmc, image, output, timeout });
      expect(problems).toEqual([]);
      const findings: Finding[] = [];
      const checks = composeChecks(examine(flags, { HOME: folder, ...env }), options, own);
      await runChecks(checks, (found) => findings.push(...found), new AbortController().signal);
      const report = DoctorReport.parse(reportOf(findings));
      return { ...report, of: (check: Finding["check"]) => of(report, check) };
    },
  };
}

function of(report: DoctorReport, check: Finding["check"]): readonly Reported[] {
  return report.findings.filter((finding) => finding.check === check);
}

/** A tink server, a BMC and the files that name both. */
export async function wholeLab() {
  const lab = await openLab({ bmc: { basic: false } });
  const flags = ["--grpc-server", lab.server.address, "--inventory", lab.inventoryFile];
  return { ...doctorOn(lab), bmc: lab.bmc(), machine: lab.inventoryOf().machines[0], flags };
}
