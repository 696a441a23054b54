import type { Action } from "../../actions/harness/action.ts";
import type { ActionReference } from "../../actions/harness/input/reference.ts";
import { version } from "../../shared/version.ts";
import { END, refreshBetweenMarks } from "../marked-part.ts";
import { handExample, templateExample } from "./examples.ts";
import { inputTables } from "./input-tables.ts";
import { outputTable } from "./output-table.ts";

const START = "<!-- generated from the action: npm run docs -->";

/** The registry in examples. */
export const EXAMPLE_REGISTRY = "registry.example/pbnj-worker";

const RESULT = `The last line on stdout is the result, one JSON object; logs are JSON lines on stderr, readable text on a terminal.
\`DRY_RUN=true\` reads the state and says what would be sent. Exit codes: 0 success, 2 usage, 10 auth, 11 unreachable, 12 tls,
13 unsupported, 14 busy, 15 verify, 16 timeout, 17 state, 18 protocol, 19 bmc, 70 internal, 130 and 143 cancelled.`;

const INPUT = `Every variable is also a flag (\`BMC_HOST\` is \`--bmc-host\`), except those that hold a secret. An empty variable counts as not
given. Under pbnj-worker the connection comes from its inventory; by hand it is given here.`;

const OUTPUT = `Beside what every result has: \`action\`, \`machine\`, \`ok\`, on failure its \`class\`, \`message\`, \`provider\`, \`durationMs\`,
\`roundTrips\`, and \`hint\`, what was learned about the BMC.`;

/** An action's README with its generated part replaced; a missing one is created. */
export function refreshActionReadme(readme: string, action: Action, reference: ActionReference): string {
  const image = `${EXAMPLE_REGISTRY}/${action.name}:v${version}`;
  const parts = [
    "## In a template",
    "The task goes to pbnj-worker; the machine is named, its password is not.",
    fenced("yaml", templateExample(action.name, image, reference)),
    "## By hand",
    fenced("sh", handExample(image, reference)),
    RESULT,
    "## Input",
    INPUT,
    inputTables(action),
    "## Output",
    OUTPUT,
    outputTable(reference),
    fenced("json", JSON.stringify(reference.result, undefined, 2)),
  ];
  const page = readme === "" ? `# ${action.name}\n\n${action.summary}.\n\n${START}\n\n${END}\n` : readme;
  return refreshBetweenMarks(page, START, parts.filter((part) => part !== "").join("\n\n"));
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}
