export interface ExampleTask {
  readonly worker: string;
  readonly actions: readonly string[];
}

/** Makes a template with these tasks, for tests in which it does not matter what the actions do. */
export function exampleTemplate(tasks: readonly ExampleTask[], globalTimeoutSeconds = 600): string {
  return [
    'version: "0.1"',
    "name: example",
    `global_timeout: ${globalTimeoutSeconds}`,
    "tasks:",
    ...tasks.flatMap(({ worker, actions }, index) => [
      `  - name: task-${index + 1}`,
      `    worker: ${worker}`,
      "    actions:",
      ...actions.flatMap((name) => [
        `      - name: ${name}`,
        `        image: registry.example:5000/pbnj/${name}:v1`,
        "        timeout: 60",
      ]),
    ]),
  ].join("\n");
}
