import { Document, isMap } from "yaml";
import type { ActionReference } from "../../actions/harness/input/reference.ts";

type Example = Pick<ActionReference, "environment" | "volumes">;

const LINE_WIDTH = 150;

/** The action as an item of a task's `actions` in a Tinkerbell template. */
export function templateExample(name: string, image: string, { environment, volumes }: Example): string {
  const action = {
    name,
    image,
    timeout: 300,
    ...(volumes ? { volumes } : {}),
    environment: { MACHINE: "{{ .machine }}", ...environment },
  };
  const document = new Document([action]);
  const variables = document.getIn([0, "environment"]);
  const length = JSON.stringify(action.environment).length;
  if (isMap(variables)) variables.flow = length < LINE_WIDTH && !/\\n/.test(JSON.stringify(environment));
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** The action with `docker run`, against one BMC. */
export function handExample(image: string, { environment, volumes = [] }: Example): string {
  const options = [
    ...volumes.map((volume) => `-v ${volume}`),
    "-e BMC_HOST=192.0.2.11 -e BMC_USERNAME=admin -e BMC_PASSWORD_FILE=/run/secrets/p",
    ...inOneLine(Object.entries(environment).map(([name, value]) => `-e ${name}=${quoted(value)}`)),
  ];
  return [
    ...[`docker run --rm --user "$(id -u)" -v "$PWD/bmc-password:/run/secrets/p:ro"`, ...options].map(
      (line) => `${line} \\`,
    ),
    image,
  ].join("\n  ");
}

function inOneLine(options: readonly string[]): readonly string[] {
  const line = options.join(" ");
  return line !== "" && line.length <= LINE_WIDTH && !line.includes("\n") ? [line] : options;
}

function quoted(value: string): string {
  return /^[\w./:,@%+=-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
