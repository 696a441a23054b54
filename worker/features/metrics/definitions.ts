import type { Clock } from "../../../shared/clock.ts";
import { parseImageReference } from "../../../shared/contract/image-reference.ts";
import { version } from "../../../shared/version.ts";
import type { ActionEvent, LaneState } from "../../core/action/observer.ts";
import { type DriftSeen, settingsThatDiffer } from "../shared/drift-seen.ts";
import type { WorkerFacts } from "../shared/facts.ts";
import type { WorkerObserver } from "../shared/observer.ts";
import { INSIDE_AGENT_IDS } from "../shared/source-agent-ids.ts";
import { type LabelName, labelValues, NONE } from "./metric-labels.ts";

/** A value per label; undefined becomes `none`. */
export type LabelsOf<Label extends LabelName> = Readonly<Record<Label, string | undefined>>;
export type AnyLabels = Partial<LabelsOf<LabelName>>;

/** Adds to a counter, sets a gauge, or observes in a histogram. Without a value it is 1. */
export type RecordValue<Labels> = (labels: Labels, value?: number) => void;

/** A number if the metric has no labels. Undefined changes nothing. */
type Reading<Labels> = number | undefined | readonly (readonly [Labels, number])[];

/** The source of a metric's values. A definition without one does not compile. */
type Events<Labels> =
  /** The events of the worker. */
  | { readonly watch: (record: RecordValue<Labels>, clock: Clock) => WorkerObserver }
  /** The file that keeps state for several metrics. */
  | { readonly recordedBy: "watch-actions.ts" | "watch-process.ts" };
/** The source of a gauge may also be the state of the worker at the time of the scrape. */
type Source<Labels> =
  | Events<Labels>
  | { readonly read: (facts: WorkerFacts) => Reading<Labels> | Promise<Reading<Labels>> };

interface Described<Label extends LabelName> {
  readonly type: "counter" | "gauge" | "histogram";
  readonly name: string;
  /** One sentence without a full stop. */
  readonly help: string;
  readonly labels: readonly Label[];
  readonly buckets?: readonly number[];
  readonly fromStart?: true;
}

type Definition<Label extends LabelName> = Described<Label> & Source<LabelsOf<Label>>;
export type MetricDefinition = Described<LabelName> & Source<AnyLabels>;

interface Options<Label extends LabelName> {
  readonly labels?: readonly Label[];
  /** Set to start every series at 0, so that the first event counts as an increase. */
  readonly fromStart?: true;
}

/** From a fast in-band answer to firmware that takes ten minutes to boot. */
const ACTION_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
/** Actions wait for the previous action on the machine, or for a slot. */
const WAIT_SECONDS = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600];
/** The server holds a poll for a minute if it has no action. */
const POLL_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 30, 59, 61, 75];
const REPORT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 75];
/** The time to write and sync a file. */
const JOURNAL_SECONDS = [0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

function counter<const Label extends LabelName = never>(
  name: string,
  help: string,
  options: Options<Label> & Events<LabelsOf<Label>>,
): Definition<NoInfer<Label>> {
  return { type: "counter", name, help, labels: [], ...options };
}

function gauge<const Label extends LabelName = never>(
  name: string,
  help: string,
  options: Options<Label> & Source<LabelsOf<Label>>,
): Definition<NoInfer<Label>> {
  return { type: "gauge", name, help, labels: [], ...options };
}

/** Defines a histogram. Buckets are upper bounds in the metric's unit. */
function histogram<const Label extends LabelName = never>(
  name: string,
  help: string,
  buckets: readonly number[],
  options: Options<Label> & Events<LabelsOf<Label>>,
): Definition<NoInfer<Label>> {
  return { type: "histogram", name, help, labels: [], buckets, ...options };
}

/** Watches one kind of an action's events. */
function on<Kind extends ActionEvent["kind"]>(
  kind: Kind,
  watch: (event: ActionEvent & { kind: Kind }) => void,
): WorkerObserver {
  const isWatched = (event: ActionEvent): event is ActionEvent & { kind: Kind } => event.kind === kind;
  return {
    action(event) {
      if (isWatched(event)) watch(event);
    },
  };
}

/** The labels of an ended action. */
export function endedLabels({
  action,
  outcome,
}: ActionEvent & { kind: "ended" }): LabelsOf<"action" | "provider"> {
  return { action: parseImageReference(action.image)?.name ?? NONE, provider: outcome.result?.provider };
}

function failureClass({ outcome }: ActionEvent & { kind: "ended" }): string | undefined {
  return outcome.ok ? undefined : (outcome.class ?? "internal");
}

function countLanes(set: RecordValue<LabelsOf<"lane_state">>): WorkerObserver {
  const states = new Map<string, LaneState>();
  const counts = new Map<LaneState, number>();
  const change = (state: LaneState | undefined, by: number) => {
    if (state === undefined) return;
    counts.set(state, (counts.get(state) ?? 0) + by);
    set({ lane_state: state }, counts.get(state));
  };
  return {
    lane(agentId, state) {
      change(states.get(agentId), -1);
      change(state, 1);
      if (state === undefined) states.delete(agentId);
      else states.set(agentId, state);
    },
  };
}

function driftOf({ machines, machineDrift }: WorkerFacts): readonly DriftSeen[] {
  return machines().flatMap((name) => machineDrift?.(name) ?? []);
}

const SECOND_MS = 1_000;

/**
 * All metrics, in the order of their documentation. Label values are limited, so the number of series is bounded whatever
 * templates, machines and servers send.
 */
export const definitions = {
  tasks: counter("pbnj_tasks_total", "Actions that ended, by outcome; denied actions have class usage", {
    labels: ["action", "provider", "class"],
    watch: (add) => on("ended", (event) => add({ ...endedLabels(event), class: failureClass(event) })),
  }),
  failures: counter(
    "pbnj_failures_total",
    "Actions that failed, by class; unlike the counter above, every series starts at 0, as alerts need",
    {
      labels: ["failure_class"],
      fromStart: true,
      watch: (add) =>
        on("ended", (event) => {
          const failure = failureClass(event);
          if (failure !== undefined) add({ failure_class: failure });
        }),
    },
  ),
  active: gauge("pbnj_tasks_active", "Actions that are running", { recordedBy: "watch-actions.ts" }),
  duration: histogram(
    "pbnj_action_duration_seconds",
    "How long actions ran, from their start to their end, successful or not",
    ACTION_SECONDS,
    { labels: ["action", "provider"], recordedBy: "watch-actions.ts" },
  ),
  refused: counter(
    "pbnj_actions_refused_total",
    "Actions denied because of the policy, the inventory or the template",
    { watch: (add) => on("refused", () => add({})) },
  ),
  waiting: gauge("pbnj_actions_waiting", "Actions that wait for the machine's lock or for a slot", {
    recordedBy: "watch-actions.ts",
  }),
  limited: gauge("pbnj_actions_limited", "Waiting actions that a limit of the inventory holds back", {
    read: ({ limited }) => limited?.(),
  }),
  wait: histogram(
    "pbnj_action_wait_seconds",
    "How long actions waited for the machine's lock and a slot before they started",
    WAIT_SECONDS,
    { recordedBy: "watch-actions.ts" },
  ),
  left: counter(
    "pbnj_actions_left_total",
    "Actions released without an outcome, so that the server serves them again",
    { watch: (add) => on("returned", () => add({})) },
  ),
  slots: gauge("pbnj_slots", "Maximum number of actions that can run at the same time", {
    read: ({ slots }) => slots().limit,
  }),
  slotsTaken: gauge("pbnj_slots_taken", "Slots in use", { read: ({ slots }) => slots().taken }),
  launches: counter("pbnj_launches_total", "Actions that were started", {
    labels: ["runtime"],
    watch: (add) =>
      on("started", ({ runtime, adopted }) => {
        if (!adopted) add({ runtime });
      }),
  }),
  adoptions: counter("pbnj_adoptions_total", "Actions adopted from a worker that stopped before they ended", {
    labels: ["runtime"],
    watch: (add) =>
      on("started", ({ runtime, adopted }) => {
        if (adopted) add({ runtime });
      }),
  }),
  roundTrips: counter(
    "pbnj_bmc_round_trips_total",
    "Requests or packets sent to BMCs, as reported by the actions",
    {
      labels: ["provider"],
      watch: (add) =>
        on("ended", ({ outcome: { result } }) => {
          const sent = result?.roundTrips ?? 0;
          // A foreign image may report something that is not a count.
          if (Number.isFinite(sent) && sent > 0) add({ provider: result?.provider }, sent);
        }),
    },
  ),
  lanes: gauge("pbnj_lanes", "Lanes by state", {
    labels: ["lane_state"],
    fromStart: true,
    watch: countLanes,
  }),
  machines: gauge("pbnj_machines", "Machines in the current inventory", {
    read: ({ machines }) => machines().length,
  }),
  polls: counter("pbnj_polls_total", "Polls for an action, by gRPC code", {
    labels: ["code"],
    watch: (add) => ({ poll: ({ code }) => add({ code }) }),
  }),
  pollDuration: histogram(
    "pbnj_poll_duration_seconds",
    "How long a poll was open; the server holds it for up to a minute when there is no action",
    POLL_SECONDS,
    {
      labels: ["poll_result"],
      watch: (observe) => ({
        poll: ({ kind, durationMs }) => observe({ poll_result: kind }, durationMs / SECOND_MS),
      }),
    },
  ),
  reports: counter("pbnj_reports_total", "Attempts to report the state of an action, by gRPC code", {
    labels: ["report_state", "code"],
    watch: (add) => ({ report: ({ state, code }) => add({ report_state: state, code }) }),
  }),
  reportDuration: histogram(
    "pbnj_report_duration_seconds",
    "How long one attempt to report took",
    REPORT_SECONDS,
    { watch: (observe) => ({ report: ({ durationMs }) => observe({}, durationMs / SECOND_MS) }) },
  ),
  deliveries: counter("pbnj_final_reports_total", "Final reports, by outcome", {
    labels: ["delivery"],
    fromStart: true,
    watch: (add) => on("reported", ({ delivery }) => add({ delivery })),
  }),
  unreported: gauge(
    "pbnj_actions_unreported",
    "Actions whose final report the server has not acknowledged yet, including rejected ones",
    { recordedBy: "watch-actions.ts" },
  ),
  hardwareReads: counter(
    "pbnj_hardware_reads_total",
    "Reads of a machine's hardware by the worker itself, by class; actions not included",
    {
      labels: ["class"],
      watch: (add) => ({ hardwareRead: ({ class: failure }) => add({ class: failure }) }),
    },
  ),
  hardwareKnown: gauge(
    "pbnj_machines_hardware_known",
    "Machines whose hardware is known; 0 if the worker does not read it",
    { read: ({ hardwareKnown }) => hardwareKnown?.() },
  ),
  drift: gauge("pbnj_worker_drift", "Machines that differ from their desired state, by setting", {
    labels: ["setting"],
    fromStart: true,
    read(facts) {
      const differing = driftOf(facts).flatMap(settingsThatDiffer);
      const count = (setting: string) => differing.filter((one) => one === setting).length;
      return (labelValues("setting") ?? []).map((setting) => [{ setting }, count(setting)] as const);
    },
  }),
  driftCompared: gauge(
    "pbnj_worker_drift_compared",
    "Machines that were compared with their desired state; 0 if the worker does not compare",
    { read: (facts) => driftOf(facts).filter(({ comparedAt }) => comparedAt).length },
  ),
  driftFailing: gauge(
    "pbnj_worker_drift_failing",
    "Machines whose last comparison with their desired state failed, at least in part, or whose corrections stopped",
    {
      read: (facts) =>
        driftOf(facts).filter(({ error, enforcement }) => error || enforcement?.state === "stopped").length,
    },
  ),
  apiCalls: counter("pbnj_api_calls_total", "Calls of PBnJ's API, by gRPC code", {
    labels: ["code"],
    watch: (add) => ({ apiCall: ({ code }) => add({ code }) }),
  }),
  connected: gauge("pbnj_tink_server_connected", "Whether a connection to the tink server is open: 1 or 0", {
    read: ({ connected }) => connected && Number(connected()),
  }),
  lastAnswer: gauge(
    "pbnj_tink_server_last_answer_timestamp_seconds",
    "When the tink server last answered a poll, as Unix time; 0 before the first answer",
    {
      watch: (set, clock) => ({
        poll({ agentId, kind }) {
          if (kind !== "failed" && !INSIDE_AGENT_IDS.has(agentId)) set({}, clock.now() / SECOND_MS);
        },
      }),
    },
  ),
  journalSteps: counter(
    "pbnj_journal_operations_total",
    "Writes to the journal in the state directory, by outcome",
    {
      labels: ["journal_step", "made"],
      fromStart: true,
      watch: (add) => ({
        journal: ({ step, ok }) => add({ journal_step: step, made: ok ? "ok" : "failed" }),
      }),
    },
  ),
  journalDuration: histogram(
    "pbnj_journal_duration_seconds",
    "How long one write to the journal took",
    JOURNAL_SECONDS,
    {
      labels: ["journal_step"],
      watch: (observe) => ({
        journal: ({ step, durationMs }) => observe({ journal_step: step }, durationMs / SECOND_MS),
      }),
    },
  ),
  unfinished: gauge(
    "pbnj_journal_unfinished",
    "Journal entries of actions whose outcome the server may not know yet",
    { read: ({ unfinished }) => unfinished() },
  ),
  reloads: counter("pbnj_reloads_total", "Reloads of changed files, by outcome", {
    labels: ["file", "taken"],
    fromStart: true,
    watch: (add) => ({
      file: ({ name, taken }) => add({ file: name, taken: taken ? "taken" : "refused" }),
    }),
  }),
  stale: gauge(
    "pbnj_file_refused",
    "Whether the current file was rejected, so that the last valid one is used: 1 or 0",
    {
      labels: ["file"],
      fromStart: true,
      watch: (set) => ({ file: ({ name, taken }) => set({ file: name }, Number(!taken)) }),
    },
  ),
  leader: gauge("pbnj_leader", "Whether this worker leads: 1 or 0; absent without leader election", {
    labels: ["lease"],
    read({ cluster }) {
      const leader = cluster?.().leader;
      return leader && [[{ lease: leader.lease }, Number(leader.isLeading)]];
    },
  }),
  unusable: gauge(
    "pbnj_machines_unusable",
    "Machines in the cluster with invalid objects; 0 if the inventory is only a file",
    { read: ({ cluster }) => cluster?.().unusableMachines },
  ),
  sourceUp: gauge(
    "pbnj_machine_source_up",
    "Whether a cluster that machines are read from is watched without problems: 1 or 0",
    {
      labels: ["source"],
      read: ({ cluster }) =>
        cluster?.().sources.map(
          ({ name: source, problems }) => [{ source }, Number(problems.length === 0)] as const,
        ),
    },
  ),
  sourceMachines: gauge("pbnj_machine_source_machines", "Machines of that cluster, as last seen", {
    labels: ["source"],
    read: ({ cluster }) =>
      cluster?.().sources.map(({ name: source, machines }) => [{ source }, machines] as const),
  }),
  checks: gauge("pbnj_check_passing", "Result of each check of /healthz and /readyz: 1 if healthy, else 0", {
    labels: ["check"],
    read: async (facts) =>
      (await facts.health?.(facts))?.map(({ name, ok }) => [{ check: name }, Number(ok)] as const),
  }),
  build: gauge("pbnj_build_info", "Always 1; the labels say which version runs", {
    labels: ["version", "node_version"],
    read: () => [[{ version, node_version: process.version }, 1]],
  }),
  cpu: counter(
    "process_cpu_seconds_total",
    "CPU time of the worker, excluding actions that run as processes",
    { recordedBy: "watch-process.ts" },
  ),
  memory: gauge(
    "process_resident_memory_bytes",
    "Memory of the worker, excluding actions that run as processes",
    { read: () => process.memoryUsage.rss() },
  ),
  heap: gauge("nodejs_heap_size_used_bytes", "Memory used by the JavaScript heap, including garbage", {
    read: () => process.memoryUsage().heapUsed,
  }),
  openFiles: gauge("process_open_fds", "Open files and sockets; absent if the system does not report it", {
    recordedBy: "watch-process.ts",
  }),
  mostFiles: gauge(
    "process_max_fds",
    "Maximum number of open files and sockets; absent if the system does not report it",
    { recordedBy: "watch-process.ts" },
  ),
  startTime: gauge("process_start_time_seconds", "When the worker started, as Unix time", {
    read: () => performance.timeOrigin / SECOND_MS,
  }),
  lag: gauge("nodejs_eventloop_lag_max_seconds", "Longest event loop delay since the last scrape", {
    recordedBy: "watch-process.ts",
  }),
} satisfies Readonly<Record<string, MetricDefinition>>;

export type MetricKey = keyof typeof definitions;
