import { z } from "zod";
import { DoctorReport } from "../worker/doctor/report.ts";
import { CAUSES, type Cause, CHECK_NAMES, type CheckName } from "../worker/findings/causes.ts";
import { refreshBetweenMarks } from "./marked-part.ts";

const START = "<!-- generated from the causes: npm run docs -->";

/** Causes of any check. */
const ANY: readonly string[] = ["too-slow", "check-failed"];

/** What a check covers, for the manual. */
const CHECKS: Readonly<Record<CheckName, string>> = {
  settings: "Flags, environment variables and the configuration file.",
  inventory: "The inventory file, without the secrets that it names.",
  policy: "The policy file, and which of its rules the runtime cannot enforce.",
  "agent-ids": "Whether agent IDs, machines and the policy's rules about them match.",
  secrets: "Whether the worker can read every machine's secrets now, and other users cannot.",
  "state-directory": "Whether the worker can create, write and lock it, or a running worker uses it.",
  "tink-server": "Name, connection, TLS, both certificates, API, and the clock if the server sends a date.",
  cluster:
    "If settings use a cluster: whether its API server answers, accepts the worker and grants its permissions.",
  runtime:
    "Whether actions can be launched: the engine's socket and version, or this installation's actions.",
  "action-image": "Whether the image of `--image` can be pulled and run.",
  bmc: "With `--bmc`: whether each BMC answers, accepts the user, and supports what every action needs; its clock and certificate.",
};

/** The doctor's page: every cause with its fix, and the schema of the report. */
export async function refreshDoctorPage(current: string): Promise<string> {
  const parts = [
    ...CHECK_NAMES.map((check) =>
      section(`### ${check}`, CHECKS[check], (name, cause) => cause.check === check && !ANY.includes(name)),
    ),
    section("### Any check", "Every check can also end with these.", (name) => ANY.includes(name)),
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
  const table = ["| cause | is a | means | fix |", "| --- | --- | --- | --- |", ...rows];
  return [title, looksAt, table.join("\n")].join("\n\n");
}

/** Facts appear as in usage texts. */
function cell(text: string): string {
  return text.replace(/\{(\w+)\}/g, "`<$1>`").replaceAll("|", "\\|");
}

function schemaBlock(): string {
  return `\`\`\`json\n${JSON.stringify(z.toJSONSchema(DoctorReport), undefined, 2)}\n\`\`\``;
}
