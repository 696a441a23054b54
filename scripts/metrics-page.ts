import { ErrorClass } from "../shared/contract/error-class.ts";
import { definitions, type MetricDefinition } from "../worker/features/metrics/definitions.ts";
import { GRPC_CODES, labels, labelText, labelValues } from "../worker/features/metrics/metric-labels.ts";

const INTRODUCTION = `# Metrics

<!-- generated from worker/features/metrics/definitions.ts: npm run docs -->

The worker serves metrics at \`/metrics\` on \`--http-address\`: Prometheus text, or OpenMetrics if the Accept header prefers it. No label names a machine, a workflow or an
agent ID, so the number of series is bounded. There are a [dashboard](../../deploy/grafana/pbnj-worker.json) and [alert rules](../how-to/respond-to-alerts.md).

## Scraping

On [another address](../how-to/serve-the-status-page.md) than loopback, Prometheus sends the token, or identifies itself with \`cert_file\` and \`key_file\` in
\`tls_config\`. The chart's ServiceMonitor uses \`http.tokenSecret\` and \`http.tlsSecret\`.

\`\`\`yaml
scrape_configs:
  - job_name: pbnj-worker
    scheme: https
    authorization: {credentials_file: /etc/prometheus/pbnj-worker-token}
    tls_config: {ca_file: /etc/prometheus/pbnj-worker-ca.crt}
    static_configs:
      - targets: [worker.example.org:42180]
\`\`\`
`;

/** The page `docs/reference/metrics.md`: every metric with its labels, from the definitions. */
export function renderMetricsPage(): string {
  const all: readonly MetricDefinition[] = Object.values(definitions);
  return [
    INTRODUCTION,
    "## All metrics\n",
    "| metric | type | labels | description |",
    "|---|---|---|---|",
    ...all.map(metricRow),
    "",
    "## Labels\n",
    "| label | of | values | description |",
    "|---|---|---|---|",
    ...Object.keys(labels).map((label) => labelRow(label, all)),
    "",
  ].join("\n");
}

function metricRow({ name, type, labels: own, help }: MetricDefinition): string {
  return row([code(name), type, own.map(labelText).map(code).join(", "), `${help}.`]);
}

function labelRow(label: string, all: readonly MetricDefinition[]): string {
  const users = all.filter(({ labels: own }) => own.some((each) => each === label));
  const values = valuesCell(labelValues(label));
  return row([code(labelText(label)), users.map(({ name }) => code(name)).join(", "), values, helpOf(label)]);
}

/** Lists that have a page of their own. */
const LISTS: readonly (readonly [readonly string[], string])[] = [
  [ErrorClass.options, "[error classes](error-classes.md)"],
  [GRPC_CODES, "[gRPC codes](https://grpc.io/docs/guides/status-codes/)"],
];

function valuesCell(values: readonly string[] = []): string {
  const [list = [], link] = LISTS.find(([all]) => all.every((value) => values.includes(value))) ?? [];
  const others = values.filter((value) => !list.includes(value)).map(code);
  return [...(link === undefined ? [] : [link]), ...others].join(", ") || "–";
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
