import { stringify } from "yaml";
import type { ActionReference } from "../../actions/harness/input/reference.ts";

type Example = Pick<ActionReference, "environment" | "volumes">;

/** A task with the action in a Tinkerbell template. */
export function templateExample(name: string, image: string, { environment, volumes }: Example): string {
  const action = {
    name,
    image,
    timeout: 300,
    ...(volumes ? { volumes } : {}),
    environment: { MACHINE: "{{ .machine }}", ...environment },
  };
  const tasks = [{ name: "bmc", worker: "pbnj-{{ .machine }}", actions: [action] }];
  return stringify({ tasks }, { lineWidth: 0 });
}

/** The action with `docker run`, against one BMC. */
export function handExample(image: string, { environment, volumes = [] }: Example): string {
  const options = [
    `-v "$PWD/bmc-password:/run/secrets/p:ro"`,
    ...volumes.map((volume) => `-v ${volume}`),
    "-e BMC_HOST=192.0.2.11 -e BMC_USERNAME=admin -e BMC_PASSWORD_FILE=/run/secrets/p",
    ...Object.entries(environment).map(([name, value]) => `-e ${name}=${quoted(value)}`),
  ];
  return [...["docker run --rm", ...options].map((line) => `${line} \\`), image].join("\n  ");
}

function quoted(value: string): string {
  return /^[\w./:,@%+=-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
