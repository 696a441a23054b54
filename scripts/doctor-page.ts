import { z } from "zod";
import { CAUSES, type Cause, CHECK_NAMES, type CheckName } from "../worker/doctor/causes.ts";
import { DoctorReport } from "../worker/doctor/report.ts";
import { refreshBetweenMarks } from "./marked-part.ts";

const START = "<!-- generated from the causes: npm run docs -->";

/** Causes of any check. */
const ANY: readonly string[] = ["too-slow", "check-failed"];

/** What a check covers, for the manual. */
const LOOKS_AT: Readonly<Record<CheckName, string>> = {
  settings: "Flags, environment variables and the configuration file, each where it was given.",
  inventory: "The inventory's file, every line of it; not the secrets that it names.",
  policy: "The policy's file, every line of it, and what the runtime cannot see to.",
  "agent-ids": "Whether agent IDs, machines and the policy's rules about them know of each other.",
  secrets: "Whether every machine's secrets can be read now, as for an action, and by nobody else.",
  "state-directory": "Whether it can be made, written and locked, or is a running worker's.",
  "tink-server": "Name, connection, TLS and both certificates, API, and the clock where the server tells it.",
  cluster:
    "Where settings use a cluster: whether its API answers, knows the worker, and allows what each part needs.",
  runtime:
    "Whether actions could be launched: the engine's socket and version, or this installation's actions.",
  "action-image": "Whether the image of `--image` can be had, runs and ends well.",
  bmc: "With `--bmc`: whether each BMC answers, lets the user in, and can do what every action needs; its clock and certificate.",
};

/** The doctor's page: every cause with its fix, and the schema of the report. */
export async function refreshDoctorPage(current: string): Promise<string> {
  const parts = [
    ...CHECK_NAMES.map((check) =>
      section(`### ${check}`, LOOKS_AT[check], (name, cause) => cause.check === check && !ANY.includes(name)),
    ),
    section("### Any check", "What may become of each of them.", (name) => ANY.includes(name)),
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
