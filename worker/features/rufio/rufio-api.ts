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
  /** The Tasks that exist so far, in order; absent if Tasks are separate objects. */
  readonly ownTasks?: readonly RufioTask[];
}

/** The machine that a Job is for. */
export interface JobTarget {
  /** The name of the Job. */
  readonly name: ObjectName;
  /** Absent for a Job that has a connection instead. */
  readonly machine?: ObjectName;
  /** The digest of the Job's connection. */
  readonly connection?: string;
}

export interface OpenJob extends JobBase, JobTarget {
  readonly finished: false;
  readonly resourceVersion: string;
  /** Why the Job can never succeed. */
  readonly problem?: string | undefined;
  readonly tasks: readonly unknown[];
  /** How many Tasks have completed according to the status; always 0 if Tasks are separate objects. */
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
  /** Whether only this worker can have started the Task. */
  readonly own: boolean;
  readonly action: unknown;
  /** Why the Task can never succeed, whatever its action. */
  readonly problem?: string | undefined;
  /** The digest of the Task's connection. */
  readonly connection: string;
  readonly startTime?: string | undefined;
  /** The status that has the Task's progress: the Job's, if the Task is not a separate object. */
  readonly status: Progress;
}

export type RufioTask =
  | (TaskBase & { readonly finished: true; readonly end: "completed" | "failed" })
  | OpenTask;

export interface MachineStatus {
  readonly powerState?: string | undefined;
  readonly conditions: Conditions;
}

/** An object that a Job refers to: a Machine, or a Hardware in v1alpha2. The inventory reads its connection separately. */
export interface RufioMachine {
  readonly name: ObjectName;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleted: boolean;
  readonly paused: boolean;
  /** Whether its annotation requests another read of its hardware. */
  readonly refresh: boolean;
  /** The digest of the connection. */
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

/** A Task that was read to change its status. */
export interface SeenTask {
  /** Undefined if the Task no longer belongs to its Job. */
  readonly task: RufioTask | undefined;
  readonly status: Progress;
}

type Fields = Readonly<Record<string, unknown>>;
type Versioned<Status> = Schema<{
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly status: Status;
}>;

/** Reads and writes the objects of one version of Rufio's API. */
export interface RufioApi {
  readonly version: RufioApiVersion;
  readonly job: Kind;
  /** The kind that Jobs refer to. */
  readonly machine: Kind & { readonly kind: Reference["to"]["kind"] };
  /** Parses a Job; undefined for an invalid object. */
  readonly jobOf: (object: unknown) => RufioJob | undefined;
  readonly machineOf: (object: unknown) => RufioMachine | undefined;
  readonly readTask: (task: unknown) => ReadTask;
  readonly jobSchema: Versioned<Progress>;
  /** Returns the status fields to change; undefined if there are none, or if the Job has ended. */
  readonly jobPatch: (job: OpenJob, found: Progress, to: JobState, nowMs: number) => Fields | undefined;
  /** Returns the object whose status has the Task's progress. */
  readonly recordOf: (task: { readonly uid: string; readonly name: ObjectName }) => {
    readonly kind: Kind;
    readonly name: ObjectName;
    readonly uid: string;
    readonly schema: Versioned<SeenTask>;
  };
  readonly taskPatch: (task: OpenTask, found: Progress, change: TaskChange) => Fields;
  /** Returns the object that names the Task's machine, for the policy. */
  readonly referrerOf: (task: OpenTask) => Reference["from"];
  /** Present if Tasks are separate objects. */
  readonly taskObjects?: TaskObjects;
  readonly texts: ApiTexts;
}

interface TaskObjects {
  readonly kind: Kind;
  readonly taskOf: (object: unknown) => RufioTask | undefined;
  /** Creates a Task. Resolves to why the API server rejects it; undefined once it exists. */
  readonly create: (
    job: OpenJob,
    index: number,
    cluster: Cluster,
    isKnown: (name: ObjectName) => boolean,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
}

/** Texts for conditions, of one line each. */
interface ApiTexts {
  readonly notStarted: (job: OpenJob, index: number, problem: string) => string;
  readonly taskLost: (task: ObjectName) => string;
  readonly machineMissing: (machine: ObjectName) => string;
  readonly noMachine: (namespace: string) => string;
}
