import { definitions, type MetricDefinition } from "./definitions.ts";
import { labels, labelText, labelValues } from "./labels.ts";

const INTRODUCTION = `# Metrics

This page is made from \`worker/observe/metrics/definitions.ts\` by \`npm run docs\`.

\`pbnj-worker start\` serves its metrics at \`/metrics\` on the address of \`--http-address\`, in the Prometheus text format or,
where the Accept header prefers it, as OpenMetrics. Times are in seconds, sizes in bytes.

No label names a machine, a workflow or an agent ID, and every label has a closed set of values, so that the number of
series is bounded whatever templates and inventories say. Actions are counted by the names of this project's
[catalogue](../../README.md); an image of another name counts as \`other\`. Which machine it was is in the log and on the
status page.

\`pbnj_tasks_total\`, \`pbnj_tasks_active\` and \`pbnj_action_duration_seconds\` have PBnJ's names and mean what they mean there,
one BMC task being one action here; the labels are this project's own.

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
