import type { ActionReference } from "../../actions/harness/input/reference.ts";
import { handExample, templateExample } from "../action-readme/examples.ts";

/** The registry's "Install" text: the action in a template, and with `docker run`. */
export function installText(name: string, image: string, reference: ActionReference): string {
  return [
    "As an action of a task for pbnj-worker, which has the machine's address and password in its inventory:",
    `\`\`\`yaml\n${templateExample(name, image, reference).trimEnd()}\n\`\`\``,
    "By hand, against one BMC:",
    `\`\`\`sh\n${handExample(image, reference)}\n\`\`\``,
    "",
  ]
    .join("\n\n")
    .trimEnd();
}
