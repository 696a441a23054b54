import { definitions, type MetricDefinition } from "../worker/features/metrics/definitions.ts";
import { labels, labelText, labelValues } from "../worker/features/metrics/metric-labels.ts";

const INTRODUCTION = `# Metrics

\`npm run docs\` generates this page from \`worker/features/metrics/definitions.ts\`.

\`pbnj-worker start\` serves its metrics at \`/metrics\` on the address of \`--http-address\`, in the Prometheus text format or,
if the Accept header prefers it, as OpenMetrics. Times are in seconds, sizes in bytes.

No label names a machine, a workflow or an agent ID, and every label has a closed set of values, so that the number of
series is bounded. Actions are counted by the names of this project's
[catalogue](../../README.md#actions); an image of another name counts as \`other\`. The log and the status page name the
machine.

\`pbnj_tasks_total\`, \`pbnj_tasks_active\` and \`pbnj_action_duration_seconds\` have PBnJ's names and meaning; a
BMC task is an action here. The labels are this project's.

## Scraping

On loopback the metrics need no authentication. On [any other address](../how-to/serve-the-status-page.md) Prometheus sends the token:

\`\`\`yaml
scrape_configs:
  - job_name: pbnj-worker
    scheme: https
    authorization: {credentials_file: /etc/prometheus/pbnj-worker-token}
    tls_config: {ca_file: /etc/prometheus/pbnj-worker-ca.crt}
    static_configs:
      - targets: [worker.example.org:42180]
\`\`\`

Or it identifies itself with \`cert_file\` and \`key_file\` in \`tls_config\`. The chart's ServiceMonitor uses
\`http.tokenSecret\` and \`http.tlsSecret\`.

A dashboard for Grafana is [\`deploy/grafana/pbnj-worker.json\`](../../deploy/grafana/pbnj-worker.json), alert rules for
Prometheus are [\`deploy/prometheus/alerts.yaml\`](../../deploy/prometheus/alerts.yaml).
`;

/** The page `docs/reference/metrics.md`: every metric with its labels, from the definitions. */
export function renderMetricsPage(): string {
  const all: readonly MetricDefinition[] = Object.values(definitions);
  const histograms = all.filter(({ type }) => type === "histogram");
  return [
    INTRODUCTION,
    "## Every metric\n",
    "| metric | type | labels | what it is |",
    "|---|---|---|---|",
    ...all.map(metricRow),
    "",
    "## Their labels\n",
    "| label | of | values | what it says |",
    "|---|---|---|---|",
    ...Object.keys(labels).map((label) => labelRow(label, all)),
    "",
    "## Buckets of the histograms\n",
    "| histogram | upper bounds in seconds |",
    "|---|---|",
    ...histograms.map(({ name, buckets = [] }) => row([code(name), buckets.join(", ")])),
    "",
  ].join("\n");
}

function metricRow({ name, type, labels: own, help }: MetricDefinition): string {
  return row([code(name), type, own.map(labelText).map(code).join(", ") || "–", `${help}.`]);
}

function labelRow(label: string, all: readonly MetricDefinition[]): string {
  const users = all.filter(({ labels: own }) => own.some((each) => each === label));
  const values = labelValues(label)?.map(code).join(", ") ?? "–";
  return row([code(labelText(label)), users.map(({ name }) => code(name)).join(", "), values, helpOf(label)]);
}

function helpOf(label: string): string {
  const found: Partial<Record<string, { readonly help: string }>> = labels;
  return `${found[label]?.help ?? ""}.`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}
