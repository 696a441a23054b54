import type { Action } from "../../actions/harness/action.ts";
import type { ActionReference } from "../../actions/harness/input/reference.ts";
import { IMAGE_REGISTRY } from "../../shared/image-registry.ts";
import { version } from "../../shared/version.ts";
import { END, refreshBetweenMarks } from "../marked-part.ts";
import { templateExample } from "./examples.ts";
import { fieldTable } from "./input-table.ts";
import { outputTable } from "./output-table.ts";
import type { SharedObjects } from "./shared-objects.ts";

const START = "<!-- generated from the action: npm run docs -->";

const INPUT_PAGE = "../../docs/reference/action-input.md";
const RESULT_PAGE = "../../docs/reference/action-results.md";

/** An action's README with its generated part replaced; a missing one is created. */
export function refreshActionReadme(
  readme: string,
  action: Action,
  reference: ActionReference,
  shared: SharedObjects,
): string {
  const image = `${IMAGE_REGISTRY}/${action.name}:v${version}`;
  const parts = [
    fenced("yaml", templateExample(action.name, image, reference)),
    ...ownInput(action),
    "## Result",
    `Message: \`${reference.result.message}\``,
    outputTable(action, reference, shared),
    `Common: [variables](${INPUT_PAGE}), [result fields](${RESULT_PAGE})`,
  ];
  const page = readme === "" ? `# ${action.name}\n\n${action.summary}.\n\n${START}\n\n${END}\n` : readme;
  return refreshBetweenMarks(page, START, parts.filter((part) => part !== "").join("\n\n"));
}

function ownInput(action: Action): readonly string[] {
  const fields = Object.values(action.input);
  return fields.length > 0 ? ["## Input", fieldTable(fields)] : [];
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}
