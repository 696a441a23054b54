import { createHash } from "node:crypto";
import { z } from "zod";
import { defined } from "../../../shared/defined.ts";
import { excessOf } from "../../../shared/input-limits.ts";
import { apiVersionOf, KINDS, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { pausingAnnotation } from "../../kubernetes/client/pausing-annotation.ts";
import { Conditions, isFinished, isTrue, Progress, Time } from "./conditions.ts";
import type { RufioJob, RufioMachine, RufioTask } from "./rufio-api.ts";

/** On everything that this worker creates. */
export const MANAGED_BY = { "app.kubernetes.io/managed-by": "pbnj-worker" } as const;

/** Annotations by which users control Rufio's inventory: of a Machine, and of a Hardware. */
const REFRESH = "tinkerbell.org/refresh-inventory";
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
  spec: z.object({
    machineRef: z.object({ name: z.string(), namespace: z.string() }),
    tasks: z.array(z.unknown()),
  }),
  status: Progress,
});

export const TaskObject = z.object({
  metadata: Metadata,
  spec: z.object({ task: z.unknown(), connection: z.unknown() }),
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

/** Tinkerbell's Hardware, as far as its inventory status is concerned. */
const HardwareObject = z.object({
  metadata: Metadata,
  spec: z.object({ bmcRef: z.object({ kind: z.string(), name: z.string().min(1) }) }),
  status: z
    .object({
      attributes: z.object({ outOfBand: z.record(z.string(), z.unknown()).nullish() }).nullish(),
    })
    .nullish(),
});

/** Undefined for an invalid object. */
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
    ...defined({ problem: excessProblem("the Job's spec", spec) }),
  };
}

/** Why the spec of an object is too large to be read; undefined if it is not. */
export function excessProblem(what: string, spec: unknown): string | undefined {
  const excess = excessOf(spec, "rufioSpec");
  return excess && `${what} ${excess}`;
}

/** Parses a Task. Finished Tasks remain until they are deleted, so little of them is kept. */
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
    connection: connectionDigest(spec.connection),
    startTime: status.startTime,
    status,
  };
}

/** Undefined for an invalid object. */
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

/** Undefined for an object that refers to no Machine. */
export function hardwareOf(object: unknown) {
  const { success, data } = HardwareObject.safeParse(object);
  if (!success || data.spec.bmcRef.kind !== KINDS.rufioMachine.kind) return undefined;
  const { metadata, spec, status } = data;
  const { lastUpdated: _, ...attributes } = status?.attributes?.outOfBand ?? {};
  return {
    resourceVersion: metadata.resourceVersion,
    /** In the same namespace. */
    machine: spec.bmcRef.name,
    disabled: metadata.annotations?.[DISABLE] === "true",
    /** The current attributes without their time. */
    attributes,
  };
}
export type RufioHardware = NonNullable<ReturnType<typeof hardwareOf>>;

export const ConnectionOf = z.object({ spec: z.object({ connection: z.record(z.string(), z.unknown()) }) });

export function ownerOf({ ownerReferences }: Pick<z.infer<typeof Metadata>, "ownerReferences">) {
  const controller = ownerReferences?.find((reference) => reference.controller);
  const isJob =
    controller?.kind === KINDS.rufioJob.kind && controller.apiVersion === apiVersionOf(KINDS.rufioJob);
  return isJob ? { name: controller.name, uid: controller.uid } : undefined;
}

/** What `connectionDigest` gives for a connection that is too large to be read. */
export const UNREADABLE_CONNECTION = "";

/** Equal for equal connections, whatever the order of their keys. */
export function connectionDigest(connection: unknown = null): string {
  if (excessOf(connection, "connection") !== undefined) return UNREADABLE_CONNECTION;
  return createHash("sha256").update(canonical(connection)).digest("base64").slice(0, 22);
}

/** JSON that is equal for equal values, whatever the order of their keys. */
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
