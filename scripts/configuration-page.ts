import { settings } from "../worker/config/schema.ts";
import type { Setting } from "../worker/config/setting.ts";

const INTRODUCTION = `# Configuration

\`npm run docs\` generates this page from the schema in \`worker/config/schema.ts\`.

\`pbnj-worker start\` takes each setting from the first of these places:

1. the flag,
2. the environment variable of this project (\`PBNJ_…\`),
3. the environment variables of other Tinkerbell workers, in the order of the tables, so that settings of an existing
   deployment keep working,
4. the YAML file that \`--config\` or \`PBNJ_CONFIG\` names ([an example](../../examples/worker.yaml)),
5. the default.

An empty environment variable counts as not set. Paths in a configuration file are relative to that file. The worker
reports all problems at once, each with its place, and exits with code 2 (75 if a file cannot be read because the disk
fails or too many files are open).

Write durations as \`90\` (seconds), \`500ms\`, \`45s\`, \`1m30s\` or \`2h\`; sizes as bytes or \`256Mi\`, \`1g\`,
in units of 1024; booleans also as \`1\`, \`0\`, \`yes\`, \`no\`, \`on\`, \`off\`. Separate lists in the environment by
commas.

The [inventory](../../examples/inventory.yaml) and the [policy](../../examples/policy.yaml) are separate files.
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
