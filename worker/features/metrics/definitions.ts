import type { LabelName } from "./metric-labels.ts";

export interface MetricDefinition {
  readonly type: "counter" | "gauge" | "histogram";
  readonly name: string;
  /** One sentence without a full stop. */
  readonly help: string;
  readonly labels: readonly LabelName[];
  readonly buckets?: readonly number[];
  readonly fromStart?: true;
}

/** From a fast in-band answer to firmware that takes ten minutes to boot. */
const ACTION_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
/** Actions wait for the previous one on the machine, or for a slot. */
const WAIT_SECONDS = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600];
/** The server holds a poll for a minute if it has no action. */
const POLL_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 30, 59, 61, 75];
const REPORT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 75];
/** Writing and syncing a file. */
const JOURNAL_SECONDS = [0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

const counter = <const Labels extends readonly LabelName[]>(name: string, help: string, ...labels: Labels) =>
  ({ type: "counter", name, help, labels }) as const;

const gauge = <const Labels extends readonly LabelName[]>(name: string, help: string, ...labels: Labels) =>
  ({ type: "gauge", name, help, labels }) as const;

/** Buckets are upper bounds, in the metric's unit. */
const histogram = <const Labels extends readonly LabelName[]>(
  name: string,
  help: string,
  buckets: readonly number[],
  ...labels: Labels
) => ({ type: "histogram", name, help, labels, buckets }) as const;

/** Starts every series at 0, so that the first event is an increase. */
const fromStart = <Metric extends object>(started: Metric) => ({ ...started, fromStart: true }) as const;

/**
 * All metrics, in the order of their documentation. Label values are limited, so the number of series is bounded whatever
 * templates, machines and servers send.
 */
export const definitions = {
  tasks: counter(
    "pbnj_tasks_total",
    "Actions that ended, by outcome; denied actions have class usage",
    "action",
    "provider",
    "class",
  ),
  failures: fromStart(
    counter(
      "pbnj_failures_total",
      "Actions that failed, by class; unlike the counter above, every series starts at 0, as alerts need",
      "failure_class",
    ),
  ),
  active: gauge("pbnj_tasks_active", "Actions that are running"),
  duration: histogram(
    "pbnj_action_duration_seconds",
    "How long actions ran, from their start to their end, successful or not",
    ACTION_SECONDS,
    "action",
    "provider",
  ),
  refused: counter(
    "pbnj_actions_refused_total",
    "Actions denied because of the policy, the inventory or the template",
  ),
  waiting: gauge("pbnj_actions_waiting", "Actions that wait for the machine's lock or for a slot"),
  wait: histogram(
    "pbnj_action_wait_seconds",
    "How long actions waited for the machine's lock and a slot before they started",
    WAIT_SECONDS,
  ),
  left: counter(
    "pbnj_actions_left_total",
    "Actions released without an outcome, so that the server serves them again",
  ),
  slots: gauge("pbnj_slots", "Maximum number of actions that can run at the same time"),
  slotsTaken: gauge("pbnj_slots_taken", "Slots in use"),
  launches: counter("pbnj_launches_total", "Actions that were started", "runtime"),
  adoptions: counter(
    "pbnj_adoptions_total",
    "Actions adopted from a worker that stopped before they ended",
    "runtime",
  ),
  roundTrips: counter(
    "pbnj_bmc_round_trips_total",
    "Requests or packets sent to BMCs, as reported by the actions",
    "provider",
  ),
  lanes: fromStart(gauge("pbnj_lanes", "Lanes by state", "lane_state")),
  machines: gauge("pbnj_machines", "Machines in the current inventory"),
  polls: counter("pbnj_polls_total", "Polls for an action, by gRPC code", "code"),
  pollDuration: histogram(
    "pbnj_poll_duration_seconds",
    "How long a poll was open; the server holds it for up to a minute when there is no action",
    POLL_SECONDS,
    "poll_result",
  ),
  reports: counter(
    "pbnj_reports_total",
    "Attempts to report the state of an action, by gRPC code",
    "report_state",
    "code",
  ),
  reportDuration: histogram(
    "pbnj_report_duration_seconds",
    "How long one attempt to report took",
    REPORT_SECONDS,
  ),
  deliveries: fromStart(counter("pbnj_final_reports_total", "Final reports, by outcome", "delivery")),
  unreported: gauge(
    "pbnj_actions_unreported",
    "Actions whose final report the server has not acknowledged yet, including rejected ones",
  ),
  hardwareReads: counter(
    "pbnj_hardware_reads_total",
    "Reads of a machine's hardware by the worker itself, by class; actions not included",
    "class",
  ),
  hardwareKnown: gauge(
    "pbnj_machines_hardware_known",
    "Machines whose hardware is known; 0 if the worker does not read it",
  ),
  drift: fromStart(
    gauge("pbnj_worker_drift", "Machines that differ from their desired state, by setting", "setting"),
  ),
  driftCompared: gauge(
    "pbnj_worker_drift_compared",
    "Machines that were compared with their desired state; 0 if the worker does not compare",
  ),
  driftFailing: gauge(
    "pbnj_worker_drift_failing",
    "Machines whose last comparison with their desired state failed, at least in part, or whose corrections stopped",
  ),
  apiCalls: counter("pbnj_api_calls_total", "Calls of PBnJ's API, by gRPC code", "code"),
  connected: gauge("pbnj_tink_server_connected", "Whether a connection to the tink server is open: 1 or 0"),
  lastAnswer: gauge(
    "pbnj_tink_server_last_answer_timestamp_seconds",
    "When the tink server last answered a poll, as Unix time; 0 before the first answer",
  ),
  journalSteps: fromStart(
    counter(
      "pbnj_journal_operations_total",
      "Writes to the journal in the state directory, by outcome",
      "journal_step",
      "made",
    ),
  ),
  journalDuration: histogram(
    "pbnj_journal_duration_seconds",
    "How long one write to the journal took",
    JOURNAL_SECONDS,
    "journal_step",
  ),
  unfinished: gauge(
    "pbnj_journal_unfinished",
    "Journal entries of actions whose outcome the server may not know yet",
  ),
  reloads: fromStart(counter("pbnj_reloads_total", "Reloads of changed files, by outcome", "file", "taken")),
  stale: fromStart(
    gauge(
      "pbnj_file_refused",
      "Whether the current file was rejected, so that the last valid one is used: 1 or 0",
      "file",
    ),
  ),
  leader: gauge("pbnj_leader", "Whether this worker leads: 1 or 0; absent without leader election", "lease"),
  unusable: gauge(
    "pbnj_machines_unusable",
    "Machines in the cluster with invalid objects; 0 if the inventory is only a file",
  ),
  sourceUp: gauge(
    "pbnj_machine_source_up",
    "Whether a cluster that machines are read from is watched without problems: 1 or 0",
    "source",
  ),
  sourceMachines: gauge("pbnj_machine_source_machines", "Machines of that cluster, as last seen", "source"),
  checks: gauge(
    "pbnj_check_passing",
    "Result of each check of /healthz and /readyz: 1 if healthy, else 0",
    "check",
  ),
  build: gauge("pbnj_build_info", "Always 1; the labels say which version runs", "version", "node_version"),
  cpu: counter(
    "process_cpu_seconds_total",
    "CPU time of the worker, excluding actions that run as processes",
  ),
  memory: gauge(
    "process_resident_memory_bytes",
    "Memory of the worker, excluding actions that run as processes",
  ),
  heap: gauge("nodejs_heap_size_used_bytes", "Memory used by the JavaScript heap, including garbage"),
  openFiles: gauge("process_open_fds", "Open files and sockets; absent if the system does not report it"),
  mostFiles: gauge(
    "process_max_fds",
    "Maximum number of open files and sockets; absent if the system does not report it",
  ),
  startTime: gauge("process_start_time_seconds", "When the worker started, as Unix time"),
  lag: gauge("nodejs_eventloop_lag_max_seconds", "Longest event loop delay since the last scrape"),
} satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricKey = keyof typeof definitions;
