import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { expect } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { startTinkServer } from "../../../simulators/tink/server.ts";
import { defineDoctor } from "../../../worker/commands/define-commands.ts";
import { composeChecks } from "../../../worker/doctor/checks.ts";
import { readDoctorOptions } from "../../../worker/doctor/doctor-options.ts";
import { examine } from "../../../worker/doctor/examine.ts";
import { DoctorReport, reportOf } from "../../../worker/doctor/report.ts";
import { runChecks } from "../../../worker/doctor/run-checks.ts";
import type { Finding } from "../../../worker/findings/finding.ts";
import { PROGRAM, runProgram } from "../../cli/program.ts";
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

export type Reported = DoctorReport["findings"][number];

/** A folder of the operator's, and the doctor on it. */
export async function doctorLab() {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-doctor-"));
  const state = join(folder, "state");

  /** Runs the program; nothing of it reaches outside of the folder. */
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
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

function of(report: DoctorReport, check: Finding["check"]): readonly Reported[] {
  return report.findings.filter((finding) => finding.check === check);
}

/** A tink server, a BMC and the files that name both. */
export async function wholeLab() {
  const lab = await doctorLab();
  const server = await startTinkServer();
  const bmc = await startRedfishBmc({ tls: "http", basic: false });
  const password = await lab.write("password", "calvin");
  const machine = {
    name: "node-1",
    host: "127.0.0.1",
    providers: ["redfish"],
    redfish: { port: bmc.port, scheme: "http" },
    credentials: { username: "admin", passwordFile: password },
  };
  const inventory = await lab.write("rack.yaml", { machines: [machine] });
  return {
    ...lab,
    server,
    bmc,
    machine,
    flags: ["--grpc-server", server.address, "--inventory", inventory],
    async [Symbol.asyncDispose]() {
      await Promise.all([server.close(), bmc.close()]);
      await lab[Symbol.asyncDispose]();
    },
  };
}
