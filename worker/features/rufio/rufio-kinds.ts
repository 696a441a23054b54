import { createHash } from "node:crypto";
import { z } from "zod";
import { excessOf } from "../../../shared/input-limits.ts";
import { apiVersionOf, KINDS, type ObjectName, refersToMachine } from "../../kubernetes/client/kinds.ts";
import { pausingAnnotation } from "../../kubernetes/client/pausing-annotation.ts";
import { Conditions, isFinished, isTrue, Progress, Time } from "./conditions.ts";
import type { RufioJob, RufioMachine, RufioTask } from "./rufio-api.ts";
import { unknownFields } from "./rufio-task-action.ts";

/** The label on every object that this worker creates. */
export const MANAGED_BY = { "app.kubernetes.io/managed-by": "pbnj-worker" } as const;

/** A user's annotation of a Machine that requests another read of its hardware. */
const REFRESH = "tinkerbell.org/refresh-inventory";
/** A user's annotation of a Hardware that turns off its inventory status. */
const DISABLE = "tinkerbell.org/disable-outofband-inventory";

export const Metadata = z.object({
  name: z.string(),
  namespace: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
  deletionTimestamp: Time,
  labels: z.record(z.string(), z.string()).nullish(),
  annotations: z.record(z.string(), z.string()).nullish(),
  ownerReferences: z
    .array(
      z.object({
        apiVersion: z.string(),
        kind: z.string(),
        name: z.string(),
        uid: z.string(),
        controller: z.boolean().nullish(),
      }),
    )
    .nullish(),
});

export const JobObject = z.object({
  metadata: Metadata,
  spec: z.looseObject({
    machineRef: z.object({ name: z.string(), namespace: z.string() }),
    tasks: z.array(z.unknown()),
  }),
  status: Progress,
});

export const TaskObject = z.object({
  metadata: Metadata,
  spec: z.looseObject({ task: z.unknown().optional(), connection: z.unknown().optional() }),
  status: Progress,
});

export const MachineObject = z.object({
  metadata: Metadata,
  spec: z.object({
    connection: z.looseObject({
      authSecretRef: z.object({ name: z.string().optional(), namespace: z.string().optional() }).optional(),
    }),
  }),
  status: z.object({ powerState: z.string().optional(), conditions: Conditions }).prefault({}),
});

/** The fields of Tinkerbell's Hardware that concern its inventory status. */
const HardwareObject = z.object({
  metadata: Metadata,
  spec: z.object({
    bmcRef: z.object({ kind: z.string(), apiGroup: z.string().nullish(), name: z.string().min(1) }),
  }),
  status: z
    .object({
      attributes: z.object({ outOfBand: z.record(z.string(), z.unknown()).nullish() }).nullish(),
    })
    .nullish(),
});

/** Parses a Job; undefined for an invalid object. */
export function jobOf(object: unknown): RufioJob | undefined {
  const { success, data } = JobObject.safeParse(object);
  if (!success) return undefined;
  const { metadata, spec, status } = data;
  const about = { uid: metadata.uid, deleted: metadata.deletionTimestamp !== undefined };
  if (isFinished(status)) return { finished: true, ...about };
  // The tasks are copied into Tasks unchanged.
  const { machineRef: machine, tasks } = spec;
  return {
    finished: false,
    ...about,
    name: nameOf(metadata),
    resourceVersion: metadata.resourceVersion,
    machine,
    tasks,
    completed: 0,
    maybeStarted: false,
    status,
    problem: excessProblem("the Job's spec", spec) ?? unknownFields(spec, ["machineRef", "tasks"]),
  };
}

/** Explains why a spec is too large to read; undefined if it is not too large. */
export function excessProblem(what: string, spec: unknown): string | undefined {
  const excess = excessOf(spec, "rufioSpec");
  return excess && `${what} ${excess}`;
}

/** Parses a Task; undefined for an invalid object. Keeps little of finished Tasks, because these remain until they are deleted. */
export function taskOf(object: unknown): RufioTask | undefined {
  const { success, data } = TaskObject.safeParse(object);
  if (!success) return undefined;
  const { metadata, spec, status } = data;
  const about = { uid: metadata.uid, owner: ownerOf(metadata) };
  if (isFinished(status)) {
    const end = isTrue(status.conditions, "Completed") ? "completed" : "failed";
    return { finished: true, end, ...about };
  }
  return {
    finished: false,
    ...about,
    name: nameOf(metadata),
    resourceVersion: metadata.resourceVersion,
    deleted: metadata.deletionTimestamp !== undefined,
    own: Object.entries(MANAGED_BY).every(([label, value]) => metadata.labels?.[label] === value),
    action: spec.task,
    problem: unknownFields(spec, ["task", "connection"], {
      machineRef: "name the Machine in a Job, or give its connection",
    }),
    connection: connectionDigest(spec.connection),
    startTime: status.startTime,
    status,
  };
}

/** Parses a Machine; undefined for an invalid object. */
export function machineOf(object: unknown): RufioMachine | undefined {
  const { success, data } = MachineObject.safeParse(object);
  if (!success) return undefined;
  const { metadata, spec, status } = data;
  const { name, namespace = metadata.namespace } = spec.connection.authSecretRef ?? {};
  return {
    name: nameOf(metadata),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    deleted: metadata.deletionTimestamp !== undefined,
    paused: pausingAnnotation(object) !== undefined,
    refresh: metadata.annotations?.[REFRESH] === "true",
    connection: connectionDigest(spec.connection),
    secret: name ? { namespace, name } : undefined,
    status,
  };
}

/** Parses a Hardware; undefined if it is invalid or refers to no Machine. */
export function hardwareOf(object: unknown) {
  const { success, data } = HardwareObject.safeParse(object);
  if (!success || !refersToMachine(data.spec.bmcRef)) return undefined;
  const { metadata, spec, status } = data;
  const { lastUpdated: _, ...attributes } = status?.attributes?.outOfBand ?? {};
  return {
    resourceVersion: metadata.resourceVersion,
    /** The name of the Machine, which is in the same namespace. */
    machine: spec.bmcRef.name,
    disabled: metadata.annotations?.[DISABLE] === "true",
    /** The current attributes without their time. */
    attributes,
  };
}
export type RufioHardware = NonNullable<ReturnType<typeof hardwareOf>>;

export const ConnectionOf = z.object({ spec: z.object({ connection: z.record(z.string(), z.unknown()) }) });

/** The Job that owns a Task; undefined if none does. */
export function ownerOf({ ownerReferences }: z.infer<typeof Metadata>) {
  const controller = ownerReferences?.find((reference) => reference.controller);
  const isJob =
    controller?.kind === KINDS.rufioJob.kind && controller.apiVersion === apiVersionOf(KINDS.rufioJob);
  return isJob ? { name: controller.name, uid: controller.uid } : undefined;
}

/** The digest of every connection that is too large to read. */
export const UNREADABLE_CONNECTION = "";

/** Computes a digest of a connection, which does not depend on the order of its keys. */
export function connectionDigest(connection: unknown = null): string {
  if (excessOf(connection, "connection") !== undefined) return UNREADABLE_CONNECTION;
  return createHash("sha256").update(canonical(connection)).digest("base64").slice(0, 22);
}

/** Formats a value as JSON with sorted keys, so that equal values have equal texts. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

export function nameOf({ namespace, name }: ObjectName): ObjectName {
  return { namespace, name };
}
