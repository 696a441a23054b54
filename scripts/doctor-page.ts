import { z } from "zod";
import { CAUSES, type Cause, CHECK_NAMES, type CheckName } from "../worker/doctor/causes.ts";
import { DoctorReport } from "../worker/doctor/report.ts";
import { refreshBetweenMarks } from "./marked-part.ts";

const START = "<!-- generated from the causes: npm run docs -->";

/** Causes that any check may have. */
const ANY: readonly string[] = ["too-slow", "check-failed"];

/** What each check examines. */
const EXAMINES: Readonly<Record<CheckName, string>> = {
  settings: "Flags, environment variables and the configuration file.",
  inventory: "The inventory file, without the secrets that it names.",
  policy: "The policy file, and rules that the runtime cannot enforce.",
  "agent-ids": "Whether agent IDs, machines and the policy's rules about them match.",
  secrets: "Whether each machine's secrets can be read now, and only by the worker's user.",
  "state-directory": "Whether it can be created, written and locked, or a running worker uses it.",
  "tink-server": "Name, connection, TLS, certificates, API, and clock.",
  cluster: "If settings use a cluster: whether its API answers, knows the worker, and grants the rights.",
  runtime:
    "Whether actions can be launched: the engine's socket and version, or this installation's actions.",
  "action-image": "Whether the image of `--image` is available, runs and exits with 0.",
  bmc: "With `--bmc`: whether each BMC answers, accepts the login, and supports what actions need; its clock and certificate.",
};

/** The page of the doctor: every cause with its fix, and the schema of the report. */
export async function refreshDoctorPage(current: string): Promise<string> {
  const parts = [
    ...CHECK_NAMES.map((check) =>
      section(`### ${check}`, EXAMINES[check], (name, cause) => cause.check === check && !ANY.includes(name)),
    ),
    section("### Any check", "What can happen to every check.", (name) => ANY.includes(name)),
    `## JSON\n\n\`--output json\` prints one object. Its JSON Schema:\n\n${schemaBlock()}`,
  ];
  return refreshBetweenMarks(current, START, parts.join("\n\n"));
}

function section(title: string, looksAt: string, belongs: (name: string, cause: Cause) => boolean): string {
  const rows = Object.entries<Cause>(CAUSES)
    .filter(([name, cause]) => belongs(name, cause))
    .map(([name, { state, class: errorClass, means, fix }]) => {
      const kind = errorClass === undefined ? state : `${state}, \`${errorClass}\``;
      return `| \`${name}\` | ${kind} | ${cell(means)} | ${cell(fix)} |`;
    });
  const table = ["| cause | state | meaning | fix |", "| --- | --- | --- | --- |", ...rows];
  return [title, looksAt, table.join("\n")].join("\n\n");
}

/** Facts of the case are written as they are in usage texts. */
function cell(text: string): string {
  return text.replace(/\{(\w+)\}/g, "`<$1>`").replaceAll("|", "\\|");
}

function schemaBlock(): string {
  return `\`\`\`json\n${JSON.stringify(z.toJSONSchema(DoctorReport), undefined, 2)}\n\`\`\``;
}
