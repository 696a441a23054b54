import type { LabelName } from "./labels.ts";

export interface MetricDefinition {
  readonly type: "counter" | "gauge" | "histogram";
  readonly name: string;
  /** One sentence, without its full stop. */
  readonly help: string;
  readonly labels: readonly LabelName[];
  /** Upper bounds, in the metric's unit; of histograms. */
  readonly buckets?: readonly number[];
  /** Stand at 0 from the start, so that the first time is an increase. */
  readonly fromStart?: true;
}

/** From an in-band answer to a machine whose firmware takes ten minutes to boot. */
const ACTION_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
/** An action waits for the one before it at the machine, or for a slot. */
const WAIT_SECONDS = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600];
/** A server that has nothing to do holds a poll for a minute. */
const POLL_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 30, 59, 61, 75];
const REPORT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 75];
/** A file, and what makes it last. */
const JOURNAL_SECONDS = [0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

/**
 * Everything the worker exports, in the order in which it is documented. How many series there can be is bounded by the
 * values of the labels, whatever templates, machines and servers say.
 */
export const definitions = {
  tasks: {
    type: "counter",
    name: "pbnj_tasks_total",
    help: "Actions that ended, by how they ended; refused ones are of class usage",
    labels: ["action", "provider", "class"],
  },
  failures: {
    type: "counter",
    name: "pbnj_failures_total",
    help: "Actions that failed, by class; unlike the one above it stands at 0 from the start, as alerts need it",
    labels: ["failure_class"],
    fromStart: true,
  },
  active: {
    type: "gauge",
    name: "pbnj_tasks_active",
    help: "Actions that run now",
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
    help: "Actions that the policy, the inventory or the template kept from being run",
    labels: [],
  },
  waiting: {
    type: "gauge",
    name: "pbnj_actions_waiting",
    help: "Actions that wait for their turn at the machine, or for a slot",
    labels: [],
  },
  wait: {
    type: "histogram",
    name: "pbnj_action_wait_seconds",
    help: "How long actions waited for their turn and a slot before they started",
    labels: [],
    buckets: WAIT_SECONDS,
  },
  left: {
    type: "counter",
    name: "pbnj_actions_left_total",
    help: "Actions that were let go of without an end, so that the server serves them again",
    labels: [],
  },
  slots: {
    type: "gauge",
    name: "pbnj_slots",
    help: "How many actions may run at a time",
    labels: [],
  },
  slotsTaken: {
    type: "gauge",
    name: "pbnj_slots_taken",
    help: "How many slots are taken",
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
    help: "Actions taken over from a worker that ended before they did",
    labels: ["runtime"],
  },
  roundTrips: {
    type: "counter",
    name: "pbnj_bmc_round_trips_total",
    help: "Requests or packets sent to BMCs that waited for an answer, as the actions say",
    labels: ["provider"],
  },
  lanes: {
    type: "gauge",
    name: "pbnj_lanes",
    help: "Lanes by what they do",
    labels: ["lane_state"],
    fromStart: true,
  },
  machines: {
    type: "gauge",
    name: "pbnj_machines",
    help: "Machines in the inventory that is in force",
    labels: [],
  },
  polls: {
    type: "counter",
    name: "pbnj_polls_total",
    help: "Answers to the question for an action, or their absence, by gRPC code",
    labels: ["code"],
  },
  pollDuration: {
    type: "histogram",
    name: "pbnj_poll_duration_seconds",
    help: "How long the question for an action was open; the server holds it up to a minute when there is none",
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
    help: "What became of final reports",
    labels: ["delivery"],
    fromStart: true,
  },
  unreported: {
    type: "gauge",
    name: "pbnj_actions_unreported",
    help: "Actions that have ended and whose end the server has not taken yet",
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
    help: "Changes to the journal in the state directory, by whether they were made",
    labels: ["journal_step", "made"],
    fromStart: true,
  },
  journalDuration: {
    type: "histogram",
    name: "pbnj_journal_duration_seconds",
    help: "How long one change to the journal took",
    labels: ["journal_step"],
    buckets: JOURNAL_SECONDS,
  },
  unfinished: {
    type: "gauge",
    name: "pbnj_journal_unfinished",
    help: "Entries of the journal whose end the server may not know yet",
    labels: [],
  },
  reloads: {
    type: "counter",
    name: "pbnj_reloads_total",
    help: "Changed files that were looked at, by whether they were taken over",
    labels: ["file", "taken"],
    fromStart: true,
  },
  stale: {
    type: "gauge",
    name: "pbnj_file_refused",
    help: "Whether the file as it is was refused, so that the last good one stays in force: 1 or 0",
    labels: ["file"],
    fromStart: true,
  },
  replicas: {
    type: "gauge",
    name: "pbnj_replicas",
    help: "Replicas that share the lanes, as this one knows them; 0 where it has all lanes for itself",
    labels: [],
  },
  shards: {
    type: "gauge",
    name: "pbnj_shards_owned",
    help: "Shards of agent IDs that this replica owns; 0 where it has all lanes for itself",
    labels: [],
  },
  unusable: {
    type: "gauge",
    name: "pbnj_machines_unusable",
    help: "Machines of the cluster whose objects have faults; 0 where the inventory is a file alone",
    labels: [],
  },
  checks: {
    type: "gauge",
    name: "pbnj_check_passing",
    help: "What /healthz and /readyz say of each check: 1 when all is well, or 0",
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
    help: "Processor time of the worker, without that of the actions it runs as processes",
    labels: [],
  },
  memory: {
    type: "gauge",
    name: "process_resident_memory_bytes",
    help: "Memory of the worker, without that of the actions it runs as processes",
    labels: [],
  },
  heap: {
    type: "gauge",
    name: "nodejs_heap_size_used_bytes",
    help: "Memory that JavaScript holds, some of which may be given back",
    labels: [],
  },
  openFiles: {
    type: "gauge",
    name: "process_open_fds",
    help: "Open files and sockets; absent where the system does not tell",
    labels: [],
  },
  mostFiles: {
    type: "gauge",
    name: "process_max_fds",
    help: "How many files and sockets may be open; absent where the system does not tell",
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
    help: "The longest that anything had to wait for the event loop since metrics were last asked for",
    labels: [],
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricKey = keyof typeof definitions;
