import { oneLine } from "../../../shared/contract/result.ts";
import { textOf } from "../../../shared/text-of.ts";
import { apiVersionOf, KINDS, keyOf } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import {
  completedStatus,
  failedStatus,
  isFinished,
  isTrue,
  type Progress,
  timeText,
  withCondition,
} from "./conditions.ts";
import { taskNameOf } from "./job-step.ts";
import type { JobState, OpenJob, RufioApi, TaskChange } from "./rufio-api.ts";
import {
  ConnectionOf,
  JobObject,
  jobOf,
  MANAGED_BY,
  machineOf,
  ownerOf,
  TaskObject,
  taskOf,
} from "./rufio-kinds.ts";
import { readTask } from "./rufio-task-action.ts";

const MAX_LABEL = 63;

const SeenTaskObject = TaskObject.transform((object) => ({
  metadata: object.metadata,
  status: { task: taskOf(object), status: object.status },
}));

/** Jobs name a Machine, and each of their tasks becomes a Task object. */
export const v1alpha1: RufioApi = {
  version: "v1alpha1",
  job: KINDS.rufioJob,
  machine: KINDS.rufioMachine,
  jobOf,
  machineOf,
  readTask,
  jobSchema: JobObject,
  jobPatch: (_, found, to, nowMs) => jobPatch(found, to, nowMs),
  recordOf: ({ name, uid }) => ({ kind: KINDS.rufioTask, name, uid, schema: SeenTaskObject }),
  taskPatch: (_, found, change) => taskPatch(found, change) ?? {},
  referrerOf: ({ name }) => ({ kind: KINDS.rufioTask.kind, ...name }),
  taskObjects: {
    kind: KINDS.rufioTask,
    taskOf,
    async create(job, index, cluster, isKnown, signal) {
      const { machine } = job;
      if (!machine) return undefined;
      const name = taskNameOf(job.name, index);
      try {
        const { spec } = await cluster.get(KINDS.rufioMachine, machine, ConnectionOf, signal);
        const task = taskObject(job, index, spec.connection);
        await cluster.create(KINDS.rufioTask, name.namespace, task, TaskObject, signal);
      } catch (thrown) {
        if (isKubernetesError(thrown, "invalid")) return textOf(thrown);
        if (!isKubernetesError(thrown, "already-exists")) throw thrown;
        // The response to an earlier request was lost, or the watch is stale. If the watch shows the Task, `nextStep` decides.
        const found = await cluster.find(KINDS.rufioTask, name, TaskObject, signal);
        if (found && ownerOf(found.metadata)?.uid !== job.uid && !isKnown(name)) throw thrown;
      }
      return undefined;
    },
  },
  texts: {
    notStarted: (job, index, problem) =>
      `failed to create Task ${keyOf(taskNameOf(job.name, index))}: ${problem}`,
    taskLost: (task) => `task ${keyOf(task)} was deleted before its end`,
    machineMissing: (machine) => `machine ${keyOf(machine)} not found`,
    noMachine: (namespace) =>
      `no Machine in ${namespace} has the connection of this Task: this worker acts on Machines alone`,
  },
};

/** The change of a Job's status, by Rufio's rules: `Running` stays true at the end, and a failed Job has no completion time. */
function jobPatch(before: Progress, to: JobState, nowMs: number) {
  if (isFinished(before)) return undefined;
  const { conditions, startTime } = before;
  const now = timeText(nowMs);
  if (to.kind === "waiting") {
    const found = conditions.find(({ type }) => type === "Running");
    if (found?.status === "False" && found.message === to.reason) return undefined;
    return { conditions: withCondition(conditions, "Running", "False", to.reason) };
  }
  const isRunning = isTrue(conditions, "Running");
  const running = isRunning ? conditions : withCondition(conditions, "Running");
  const started = isRunning && startTime ? {} : { startTime: now };
  switch (to.kind) {
    case "running":
      return isRunning ? undefined : { ...started, conditions: running };
    case "completed":
      return { ...started, conditions: withCondition(running, "Completed"), completionTime: now };
    case "failed":
      return { ...started, conditions: withCondition(running, "Failed", "True", oneLine(to.reason)) };
    default:
      return to satisfies never;
  }
}

function taskPatch(found: Progress, change: TaskChange) {
  switch (change.kind) {
    case "started":
      return { startTime: timeText(change.startedMs) };
    case "completed":
      return completedStatus(found, change.startedMs, change.nowMs);
    case "failed": {
      // Rufio's message has a number of nanoseconds where this one has the reason.
      const message = `${change.timedOut ? "bmc task timeout: " : ""}${change.message}`;
      return failedStatus(found, message, change.startedMs);
    }
    default:
      return change satisfies never;
  }
}

/** Builds a Task like Rufio (`createTaskWithOwner`), with this worker's label. */
function taskObject(job: OpenJob, index: number, connection: unknown): Readonly<Record<string, unknown>> {
  const { name, uid } = job;
  const { kind } = KINDS.rufioJob;
  return {
    metadata: {
      ...taskNameOf(name, index),
      labels: {
        ...MANAGED_BY,
        // A Job's name may be longer than a label.
        ...(name.name.length <= MAX_LABEL && { "owner-name": name.name }),
      },
      ownerReferences: [
        { apiVersion: apiVersionOf(KINDS.rufioJob), kind, name: name.name, uid, controller: true },
      ],
    },
    spec: { task: job.tasks[index], connection },
  };
}
