import { settings } from "./schema.ts";
import type { Setting } from "./setting.ts";

const INTRODUCTION = `# Configuration

This page is made from the schema in \`worker/config/schema.ts\` by \`npm run docs\`.

\`pbnj-worker start\` takes each setting from the first of these places that has it:

1. the flag,
2. the environment variable of this project (\`PBNJ_…\`),
3. the environment variables of other Tinkerbell workers, from left to right as the tables name them, so that
   an existing deployment's settings carry over,
4. the YAML file that \`--config\` or \`PBNJ_CONFIG\` names ([an example](../../examples/worker.yaml)),
5. the default.

An empty environment variable counts as not set. Paths in a configuration file are relative to that file. All
problems are reported at once, each with the place it comes from, and the worker then ends with exit code 2 (75 where a
file could not be read because the disk failed or too many files were open).

Durations are written as \`90\` (seconds), \`500ms\`, \`45s\`, \`1m30s\` or \`2h\`; sizes as bytes or \`256Mi\`, \`1g\`,
always in units of 1024; true and false also as \`1\`, \`0\`, \`yes\`, \`no\`, \`on\`, \`off\`. Lists are separated by
commas in the environment.

The [inventory](../../examples/inventory.yaml) and the [policy](../../examples/policy.yaml) are files of their own.
`;

/** The page `docs/reference/configuration.md`. */
export function renderConfigurationPage(): string {
  const groups = Map.groupBy(settings, ({ group }) => group);
  const sections = [...groups].map(([group, members]) =>
    [
      `## ${group}`,
      "",
      "| flag | environment | file key | value | default | what it is |",
      "|---|---|---|---|---|---|",
      ...members.map(row),
      "",
    ].join("\n"),
  );
  return [INTRODUCTION, ...sections].join("\n");
}

function row(setting: Setting): string {
  const cells = [
    setting.flag === undefined ? "–" : code(setting.flag),
    [setting.env, ...(setting.aliases ?? [])].map(code).join(", "),
    setting.noFileKey === undefined ? code(setting.name) : "–",
    code(setting.type),
    setting.default === undefined ? "–" : defaultCell(setting),
    `${setting.description}.`,
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function defaultCell({ default: value = "", defaultText }: Setting): string {
  return defaultText === undefined ? code(value) : value;
}

function code(text: string): string {
  return `\`${text}\``;
}
