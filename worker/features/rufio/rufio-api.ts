import type { Cluster, Schema } from "../../kubernetes/client/cluster.ts";
import type { Kind, ObjectName } from "../../kubernetes/client/kinds.ts";
import type { Reference } from "../../policy/reference.ts";
import type { Conditions, Progress } from "./conditions.ts";
import type { ReadTask } from "./rufio-task-action.ts";

export const RUFIO_API_VERSIONS = ["v1alpha1", "v1alpha2"] as const;
export type RufioApiVersion = (typeof RUFIO_API_VERSIONS)[number];

interface JobBase {
  readonly uid: string;
  readonly deleted: boolean;
  /** In order, those that exist so far; absent if Tasks are objects of their own. */
  readonly ownTasks?: readonly RufioTask[];
}

export interface OpenJob extends JobBase {
  readonly finished: false;
  readonly name: ObjectName;
  readonly resourceVersion: string;
  /** Absent for a Job that has a connection instead. */
  readonly machine?: ObjectName;
  /** The digest of its connection. */
  readonly connection?: string;
  /** Why the Job can never succeed. */
  readonly problem?: string;
  readonly tasks: readonly unknown[];
  /** How many Tasks the status says are done; with Tasks as objects, these say more. */
  readonly completed: number;
  /** Whether another controller may have started the next Task. */
  readonly maybeStarted: boolean;
  readonly status: Progress;
}

export type RufioJob = (JobBase & { readonly finished: true }) | OpenJob;

interface TaskBase {
  readonly uid: string;
  readonly owner?: { readonly name: string; readonly uid: string } | undefined;
}

export interface OpenTask extends TaskBase {
  readonly finished: false;
  readonly name: ObjectName;
  readonly resourceVersion: string;
  readonly deleted: boolean;
  /** Only this worker can have started it. */
  readonly own: boolean;
  readonly action: unknown;
  /** The digest of its connection. */
  readonly connection: string;
  readonly startTime?: string | undefined;
  /** The status that it is written to: the Job's, if the Task is no object of its own. */
  readonly status: Progress;
}

export type RufioTask =
  | (TaskBase & { readonly finished: true; readonly end: "completed" | "failed" })
  | OpenTask;

export interface MachineStatus {
  readonly powerState?: string | undefined;
  readonly conditions: Conditions;
}

/** The part of what a Job names that its status and Tasks without a Job need; the inventory handles its connection. */
export interface RufioMachine {
  readonly name: ObjectName;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleted: boolean;
  readonly paused: boolean;
  /** Whether its annotation asks for another read of its hardware. */
  readonly refresh: boolean;
  /** The digest of its connection. */
  readonly connection: string;
  readonly secret: ObjectName | undefined;
  readonly status: MachineStatus;
}

/** The new state of a Job. */
export type JobState =
  /** `starts` is the index of the Task to create. */
  | { readonly kind: "running"; readonly starts?: number }
  | { readonly kind: "waiting"; readonly reason: string }
  | { readonly kind: "completed" }
  | { readonly kind: "failed"; readonly reason: string };

/** The new state of a Task. */
export type TaskChange =
  | { readonly kind: "started"; readonly startedMs: number }
  | { readonly kind: "completed"; readonly startedMs: number; readonly nowMs: number }
  | {
      readonly kind: "failed";
      readonly startedMs: number;
      readonly nowMs: number;
      readonly message: string;
      readonly timedOut?: boolean;
    };

/** A Task that was read for a change of its status; undefined if it no longer belongs to its Job. */
export interface SeenTask {
  readonly task: RufioTask | undefined;
  readonly status: Progress;
}

type Fields = Readonly<Record<string, unknown>>;
type Versioned<Status> = Schema<{
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly status: Status;
}>;

/** How one version of Rufio's API reads and writes what the worker runs. */
export interface RufioApi {
  readonly version: RufioApiVersion;
  readonly job: Kind;
  /** The kind that Jobs refer to. */
  readonly machine: Kind & { readonly kind: Reference["to"]["kind"] };
  /** Undefined for an invalid object. */
  readonly jobOf: (object: unknown) => RufioJob | undefined;
  readonly machineOf: (object: unknown) => RufioMachine | undefined;
  readonly readTask: (task: unknown) => ReadTask;
  readonly jobSchema: Versioned<Progress>;
  /** The fields to change; undefined if there are none, or if the Job has ended. */
  readonly jobPatch: (job: OpenJob, found: Progress, to: JobState, nowMs: number) => Fields | undefined;
  /** The object whose status is the Task's. */
  readonly recordOf: (task: Pick<RufioTask, "uid"> & { readonly name: ObjectName }) => {
    readonly kind: Kind;
    readonly name: ObjectName;
    readonly uid: string;
    readonly schema: Versioned<SeenTask>;
  };
  readonly taskPatch: (task: OpenTask, found: Progress, change: TaskChange) => Fields;
  /** What names the Task's machine, for the policy. */
  readonly referrerOf: (task: OpenTask) => Reference["from"];
  /** Present if Tasks are objects of their own. */
  readonly taskObjects?: TaskObjects;
  readonly texts: ApiTexts;
}

interface TaskObjects {
  readonly kind: Kind;
  readonly taskOf: (object: unknown) => RufioTask | undefined;
  /** Resolves to why the API server does not accept the Task; undefined once it exists. */
  readonly create: (
    job: OpenJob,
    index: number,
    cluster: Pick<Cluster, "get" | "find" | "create">,
    isKnown: (name: ObjectName) => boolean,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
}

/** One line each. */
interface ApiTexts {
  readonly notStarted: (job: OpenJob, index: number, problem: string) => string;
  readonly taskLost: (task: ObjectName) => string;
  readonly machineMissing: (machine: ObjectName) => string;
  readonly noMachine: (namespace: string) => string;
}
