import { z } from "zod";
import { oneLine } from "../../../shared/contract/result.ts";
import { KINDS, keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { pausingAnnotation } from "../../kubernetes/client/pausing-annotation.ts";
import { type Conditions, isFinished, isTrue, Progress, setCondition, timeText } from "./conditions.ts";
import { jobOfTaskName, taskNameOf } from "./job-step.ts";
import type {
  JobState,
  OpenJob,
  OpenTask,
  RufioApi,
  RufioJob,
  RufioMachine,
  RufioTask,
  TaskChange,
} from "./rufio-api.ts";
import { connectionDigest, excessProblem, Metadata, nameOf } from "./rufio-kinds.ts";
import { readOperation, unknownFields } from "./rufio-task-action.ts";

/**
 * This worker's own condition, which names the operation that it has started or is about to start. `completedOperations` alone
 * does not show whether the next operation has started, nor which controller started it.
 */
const STARTED = "OperationStarted";
const STARTED_MESSAGE = /^operation (\d+)\b/;

const Reference = z.object({ name: z.string().optional(), namespace: z.string().optional() });

const JobObject = z.object({
  metadata: Metadata,
  spec: z.looseObject({
    hardwareRef: Reference.nullish(),
    connection: z.record(z.string(), z.unknown()).nullish(),
    operations: z.array(z.unknown()),
  }),
  status: Progress,
});
type JobObject = z.infer<typeof JobObject>;

const HardwareObject = z.object({
  metadata: Metadata,
  spec: z.object({ bmc: z.object({ connection: z.record(z.string(), z.unknown()) }) }),
});

/** A Job names a Hardware or has a connection. Its operations are not separate objects: the Job's status has their progress. */
export const v1alpha2: RufioApi = {
  version: "v1alpha2",
  job: KINDS.rufioJobV1Alpha2,
  machine: KINDS.hardwareV1Alpha2,
  jobOf(object) {
    const { success, data } = JobObject.safeParse(object);
    return success ? jobFrom(data) : undefined;
  },
  machineOf,
  readTask: readOperation,
  jobSchema: JobObject,
  jobPatch,
  recordOf({ name, uid }) {
    const at = jobOfTaskName(name);
    return {
      kind: KINDS.rufioJobV1Alpha2,
      name: at?.job ?? name,
      uid: uid.replace(/-\d+$/, ""),
      schema: JobObject.transform((object) => ({
        metadata: object.metadata,
        status: { task: jobFrom(object).ownTasks?.[at?.index ?? 0], status: object.status },
      })),
    };
  },
  taskPatch,
  referrerOf: ({ name, owner }) => ({
    kind: KINDS.rufioJobV1Alpha2.kind,
    namespace: name.namespace,
    name: owner?.name ?? name.name,
  }),
  texts: {
    notStarted: (_, index, problem) => `operation ${index + 1} not started: ${problem}`,
    taskLost: (task) =>
      `operation ${indexOf(task) + 1} was started, and the condition ${STARTED} that says so was removed`,
    machineMissing: (machine) => `no Hardware ${keyOf(machine)} with spec.bmc.connection found`,
    noMachine: (namespace) =>
      `no Hardware in ${namespace} has the connection of this Job: this worker acts on Hardware alone`,
  },
};

function jobFrom({ metadata, spec, status }: JobObject): RufioJob {
  const { uid, resourceVersion } = metadata;
  const { operations } = spec;
  const completed = status.completedOperations ?? 0;
  const name = nameOf(metadata);
  const owner = { name: name.name, uid };
  const deleted = metadata.deletionTimestamp !== undefined;
  const mark = markOf(status.conditions);
  const about = { uid, deleted };
  const taskAt = (index: number) => ({ uid: `${uid}-${index}`, owner });
  const ended = operations.slice(0, completed).map((_, index): RufioTask => {
    return { finished: true, end: "completed", ...taskAt(index) };
  });
  const isMarked = mark?.index === completed && completed < operations.length;
  if (isFinished(status)) {
    const failed = { finished: true, end: "failed", ...taskAt(completed) } as const;
    const hasFailed = isMarked && isTrue(status.conditions, "Failed");
    return { finished: true, ...about, ownTasks: hasFailed ? [...ended, failed] : ended };
  }
  const target = targetOf(spec);
  const current: OpenTask = {
    finished: false,
    ...taskAt(completed),
    name: taskNameOf(name, completed),
    resourceVersion,
    deleted,
    status,
    own: true,
    action: operations[completed],
    connection: target.connection ?? "",
    startTime: mark?.startTime,
  };
  return {
    finished: false,
    ...about,
    ownTasks: isMarked ? [...ended, current] : ended,
    name,
    resourceVersion,
    completed,
    status,
    tasks: operations,
    maybeStarted: isMaybeStarted(status, completed, mark),
    ...target,
  };
}

function targetOf(spec: JobObject["spec"]) {
  const { hardwareRef, connection, operations } = spec;
  const { name, namespace } = hardwareRef ?? {};
  const problem =
    excessProblem("the Job's spec", spec) ??
    unknownFields(spec, ["hardwareRef", "connection", "operations"], {
      machineRef: "name the Hardware in hardwareRef",
      tasks: "name the actions in operations",
    });
  if (problem !== undefined) return { problem };
  if (operations.length === 0) return { problem: "the Job has no operations" };
  if (connection && name) return { problem: "the Job has both hardwareRef and connection: it must have one" };
  if (connection) return { connection: connectionDigest(connection) };
  if (name && namespace) return { machine: { namespace, name } };
  return { problem: "the Job has neither hardwareRef nor connection: it must have one" };
}

interface Mark {
  readonly index: number;
  /** Absent while the operation is about to start, and after it has ended. */
  readonly startTime?: string;
}

function markOf(conditions: Conditions): Mark | undefined {
  const found = conditions.find(({ type }) => type === STARTED);
  const [, number] = STARTED_MESSAGE.exec(found?.message ?? "") ?? [];
  if (!found || number === undefined) return undefined;
  const isStarted = found.status === "True";
  return { index: Number(number) - 1, ...(isStarted && { startTime: found.lastUpdateTime ?? "" }) };
}

/**
 * Whether another controller may have started this operation: the status shows that the Job has begun, and this worker's mark
 * does not show that it stopped before the operation.
 */
function isMaybeStarted(
  { conditions, startTime }: Progress,
  completed: number,
  mark: Mark | undefined,
): boolean {
  if (!mark) return completed > 0 || startTime !== undefined || isTrue(conditions, "Running");
  return mark.index !== completed && !(mark.index === completed - 1 && mark.startTime === undefined);
}

function machineOf(object: unknown): RufioMachine | undefined {
  const { success, data } = HardwareObject.safeParse(object);
  if (!success) return undefined;
  const { metadata, spec } = data;
  return {
    name: nameOf(metadata),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    deleted: metadata.deletionTimestamp !== undefined,
    paused: pausingAnnotation(object) !== undefined,
    refresh: false,
    connection: connectionDigest(spec.bmc.connection),
    secret: undefined,
    status: { conditions: [] },
  };
}

/** The change of a Job's status, by v1alpha1's rules: `Running` stays true, and a failed Job has no completion time. */
function jobPatch(job: OpenJob, before: Progress, to: JobState, nowMs: number) {
  if (isFinished(before)) return undefined;
  const { conditions, startTime } = before;
  const now = timeText(nowMs);
  const set = (found: Conditions, type: string, status: "True" | "False", message = "") =>
    withTime(found, type, status, message, now);
  if (to.kind === "waiting") {
    const found = conditions.find(({ type }) => type === "Running");
    if (found?.status === "False" && found.message === to.reason) return undefined;
    return { conditions: set(conditions, "Running", "False", to.reason) };
  }
  const isRunning = isTrue(conditions, "Running");
  const running = isRunning ? conditions : set(conditions, "Running", "True");
  const started = startTime ? {} : { startTime: now };
  switch (to.kind) {
    case "running": {
      const { starts } = to;
      // A later operation has already started, which the watch has not shown yet.
      if (starts !== undefined && starts !== (before.completedOperations ?? 0)) return undefined;
      if (starts === undefined || markOf(conditions)?.index === starts) {
        return isRunning ? undefined : { ...started, conditions: running };
      }
      const message = textOfOperation(starts, job.tasks[starts]);
      return { ...started, conditions: set(running, STARTED, "False", message) };
    }
    case "completed":
      return { ...started, conditions: set(running, "Completed", "True"), completionTime: now };
    case "failed":
      return { ...started, conditions: set(running, "Failed", "True", oneLine(to.reason)) };
    default:
      return to satisfies never;
  }
}

/** The change of the Job's status for an operation. An operation that fails ends the Job. */
function taskPatch({ name, action }: OpenTask, { conditions }: Progress, change: TaskChange) {
  const index = indexOf(name);
  const text = textOfOperation(index, action);
  if (change.kind === "started") {
    return { conditions: withTime(conditions, STARTED, "True", text, timeText(change.startedMs)) };
  }
  const now = timeText(change.nowMs);
  const over = withTime(conditions, STARTED, "False", text, now);
  if (change.kind === "completed") return { conditions: over, completedOperations: index + 1 };
  const message = oneLine(`${text}: ${change.message}`);
  return { conditions: withTime(over, "Failed", "True", message, now) };
}

function indexOf(task: ObjectName): number {
  return jobOfTaskName(task)?.index ?? 0;
}

/** The message of the mark, which `markOf` parses. */
function textOfOperation(index: number, operation: unknown): string {
  const read = readOperation(operation);
  return `operation ${index + 1}${read.ok ? ` (${read.action})` : ""}`;
}

function withTime(
  conditions: Conditions,
  type: string,
  status: "True" | "False",
  message: string,
  lastUpdateTime: string,
): Conditions {
  return setCondition(conditions, { type, status, ...(message !== "" && { message }), lastUpdateTime });
}
