import type { Setting } from "../worker/config/setting.ts";
import { settings } from "../worker/main/settings.ts";

const INTRODUCTION = `# Configuration

<!-- generated from the *-settings.ts files of worker/: npm run docs -->

\`pbnj-worker start\` takes each setting from the first of these places:

| place | name of the setting \`--grpc-tls\` |
|---|---|
| flag | \`--grpc-tls\` |
| environment variable | \`PBNJ_GRPC_TLS\` |
| environment variable of other Tinkerbell workers | column "also", from left to right |
| YAML file of \`--config\` ([example](../../examples/worker.yaml)) | \`grpcTls\` |
| default | |

A name without \`--\` has no flag. An empty variable counts as not set. Paths in the file are relative to the file.

| value | write |
|---|---|
| duration | \`90\` (seconds), \`500ms\`, \`45s\`, \`1m30s\`, \`2h\` |
| size | bytes, or \`256Mi\`, \`1g\` (units of 1024) |
| boolean | \`true\`, \`1\`, \`yes\`, \`on\`, and their opposites |
| list in a variable | values separated by commas |
`;

/** The page `docs/reference/configuration.md`. */
export function renderConfigurationPage(): string {
  const groups = Map.groupBy(settings, ({ group }) => group);
  const sections = [...groups].map(([group, members]) =>
    [
      `## ${group}`,
      "",
      "| setting | also | value | default | description |",
      "|---|---|---|---|---|",
      ...members.map(row),
      "",
    ].join("\n"),
  );
  return [INTRODUCTION, ...sections].join("\n");
}

function row(setting: Setting): string {
  const cells = [
    code(setting.flag ?? setting.env),
    (setting.aliases ?? []).map(code).join(", "),
    code(setting.type),
    setting.default === undefined ? "" : defaultCell(setting),
    `${setting.description}.${setting.noFileKey === undefined ? "" : " Not in the file."}`,
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function defaultCell({ default: value = "", defaultText }: Setting): string {
  return defaultText === undefined ? code(value) : value;
}

function code(text: string): string {
  return `\`${text}\``;
}
