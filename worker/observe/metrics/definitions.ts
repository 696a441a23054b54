import type { LabelName } from "./labels.ts";

export interface MetricDefinition {
  readonly type: "counter" | "gauge" | "histogram";
  readonly name: string;
  /** One sentence without a full stop. */
  readonly help: string;
  readonly labels: readonly LabelName[];
  /** Upper bounds of a histogram, in the metric's unit. */
  readonly buckets?: readonly number[];
  /** Starts at 0, so that the first event is an increase. */
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

/**
 * All metrics, in the order of their documentation. Label values are limited, so the number of series is bounded whatever
 * templates, machines and servers send.
 */
export const definitions = {
  tasks: {
    type: "counter",
    name: "pbnj_tasks_total",
    help: "Actions that ended, by outcome; denied actions have class usage",
    labels: ["action", "provider", "class"],
  },
  failures: {
    type: "counter",
    name: "pbnj_failures_total",
    help: "Actions that failed, by class; unlike the counter above, every series starts at 0, as alerts need",
    labels: ["failure_class"],
    fromStart: true,
  },
  active: {
    type: "gauge",
    name: "pbnj_tasks_active",
    help: "Actions that are running",
    labels: [],
  },
  duration: {
    type: "histogram",
    name: "pbnj_action_duration_seconds",
    help: "How long actions ran, from their start to their end, successful or not",
    labels: ["action", "provider"],
    buckets: ACTION_SECONDS,
  },
  refused: {
    type: "counter",
    name: "pbnj_actions_refused_total",
    help: "Actions denied because of the policy, the inventory or the template",
    labels: [],
  },
  waiting: {
    type: "gauge",
    name: "pbnj_actions_waiting",
    help: "Actions that wait for the machine's lock or for a slot",
    labels: [],
  },
  wait: {
    type: "histogram",
    name: "pbnj_action_wait_seconds",
    help: "How long actions waited for the machine's lock and a slot before they started",
    labels: [],
    buckets: WAIT_SECONDS,
  },
  left: {
    type: "counter",
    name: "pbnj_actions_left_total",
    help: "Actions released without an outcome, so that the server serves them again",
    labels: [],
  },
  slots: {
    type: "gauge",
    name: "pbnj_slots",
    help: "Maximum number of actions that can run at the same time",
    labels: [],
  },
  slotsTaken: {
    type: "gauge",
    name: "pbnj_slots_taken",
    help: "Slots in use",
    labels: [],
  },
  launches: {
    type: "counter",
    name: "pbnj_launches_total",
    help: "Actions that were started",
    labels: ["runtime"],
  },
  adoptions: {
    type: "counter",
    name: "pbnj_adoptions_total",
    help: "Actions adopted from a worker that stopped before they ended",
    labels: ["runtime"],
  },
  roundTrips: {
    type: "counter",
    name: "pbnj_bmc_round_trips_total",
    help: "Requests or packets sent to BMCs, as reported by the actions",
    labels: ["provider"],
  },
  lanes: {
    type: "gauge",
    name: "pbnj_lanes",
    help: "Lanes by state",
    labels: ["lane_state"],
    fromStart: true,
  },
  machines: {
    type: "gauge",
    name: "pbnj_machines",
    help: "Machines in the current inventory",
    labels: [],
  },
  polls: {
    type: "counter",
    name: "pbnj_polls_total",
    help: "Polls for an action, by gRPC code",
    labels: ["code"],
  },
  pollDuration: {
    type: "histogram",
    name: "pbnj_poll_duration_seconds",
    help: "How long a poll was open; the server holds it for up to a minute when there is no action",
    labels: ["poll_result"],
    buckets: POLL_SECONDS,
  },
  reports: {
    type: "counter",
    name: "pbnj_reports_total",
    help: "Attempts to report the state of an action, by gRPC code",
    labels: ["report_state", "code"],
  },
  reportDuration: {
    type: "histogram",
    name: "pbnj_report_duration_seconds",
    help: "How long one attempt to report took",
    labels: [],
    buckets: REPORT_SECONDS,
  },
  deliveries: {
    type: "counter",
    name: "pbnj_final_reports_total",
    help: "Final reports, by outcome",
    labels: ["delivery"],
    fromStart: true,
  },
  unreported: {
    type: "gauge",
    name: "pbnj_actions_unreported",
    help: "Actions whose final report the server has not acknowledged yet",
    labels: [],
  },
  connected: {
    type: "gauge",
    name: "pbnj_tink_server_connected",
    help: "Whether a connection to the tink server is open: 1 or 0",
    labels: [],
  },
  lastAnswer: {
    type: "gauge",
    name: "pbnj_tink_server_last_answer_timestamp_seconds",
    help: "When the tink server last answered a poll, as Unix time; 0 before the first answer",
    labels: [],
  },
  journalSteps: {
    type: "counter",
    name: "pbnj_journal_operations_total",
    help: "Writes to the journal in the state directory, by outcome",
    labels: ["journal_step", "made"],
    fromStart: true,
  },
  journalDuration: {
    type: "histogram",
    name: "pbnj_journal_duration_seconds",
    help: "How long one write to the journal took",
    labels: ["journal_step"],
    buckets: JOURNAL_SECONDS,
  },
  unfinished: {
    type: "gauge",
    name: "pbnj_journal_unfinished",
    help: "Journal entries of actions whose outcome the server may not know yet",
    labels: [],
  },
  reloads: {
    type: "counter",
    name: "pbnj_reloads_total",
    help: "Reloads of changed files, by outcome",
    labels: ["file", "taken"],
    fromStart: true,
  },
  stale: {
    type: "gauge",
    name: "pbnj_file_refused",
    help: "Whether the current file was rejected, so that the last valid one is used: 1 or 0",
    labels: ["file"],
    fromStart: true,
  },
  replicas: {
    type: "gauge",
    name: "pbnj_replicas",
    help: "Replicas that share the lanes, as seen by this one; 0 if lanes are not shared",
    labels: [],
  },
  shards: {
    type: "gauge",
    name: "pbnj_shards_owned",
    help: "Shards of agent IDs that this replica owns; 0 if lanes are not shared",
    labels: [],
  },
  unusable: {
    type: "gauge",
    name: "pbnj_machines_unusable",
    help: "Machines in the cluster with invalid objects; 0 if the inventory is only a file",
    labels: [],
  },
  checks: {
    type: "gauge",
    name: "pbnj_check_passing",
    help: "Result of each check of /healthz and /readyz: 1 if healthy, else 0",
    labels: ["check"],
  },
  build: {
    type: "gauge",
    name: "pbnj_build_info",
    help: "Always 1; the labels say which version runs",
    labels: ["version", "node_version"],
  },
  cpu: {
    type: "counter",
    name: "process_cpu_seconds_total",
    help: "CPU time of the worker, excluding actions that run as processes",
    labels: [],
  },
  memory: {
    type: "gauge",
    name: "process_resident_memory_bytes",
    help: "Memory of the worker, excluding actions that run as processes",
    labels: [],
  },
  heap: {
    type: "gauge",
    name: "nodejs_heap_size_used_bytes",
    help: "Memory used by the JavaScript heap, including garbage",
    labels: [],
  },
  openFiles: {
    type: "gauge",
    name: "process_open_fds",
    help: "Open files and sockets; absent if the system does not report it",
    labels: [],
  },
  mostFiles: {
    type: "gauge",
    name: "process_max_fds",
    help: "Maximum number of open files and sockets; absent if the system does not report it",
    labels: [],
  },
  startTime: {
    type: "gauge",
    name: "process_start_time_seconds",
    help: "When the worker started, as Unix time",
    labels: [],
  },
  lag: {
    type: "gauge",
    name: "nodejs_eventloop_lag_max_seconds",
    help: "Longest event loop delay since the last scrape",
    labels: [],
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricKey = keyof typeof definitions;
