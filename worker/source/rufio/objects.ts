import { createHash } from "node:crypto";
import { z } from "zod";
import { apiVersionOf, KINDS, type ObjectName } from "../../cluster/client/kinds.ts";
import { type Condition, Conditions, isTrue } from "./conditions.ts";

export interface Owner {
  readonly name: string;
  readonly uid: string;
}

export type RufioJob =
  | { readonly finished: true; readonly uid: string; readonly deleted: boolean }
  | {
      readonly finished: false;
      readonly name: ObjectName;
      readonly uid: string;
      readonly resourceVersion: string;
      readonly deleted: boolean;
      readonly machine: ObjectName;
      /** Copied into Tasks unchanged. */
      readonly tasks: readonly unknown[];
      readonly status: JobStatus;
    };
export type OpenJob = RufioJob & { readonly finished: false };

export interface JobStatus {
  readonly conditions: readonly Condition[];
  readonly startTime: string | undefined;
}

export type RufioTask =
  | {
      readonly finished: true;
      readonly end: "completed" | "failed";
      readonly uid: string;
      readonly owner: Owner | undefined;
    }
  | {
      readonly finished: false;
      readonly name: ObjectName;
      readonly uid: string;
      readonly resourceVersion: string;
      readonly deleted: boolean;
      readonly owner: Owner | undefined;
      readonly own: boolean;
      readonly action: unknown;
      /** `connectionDigest` of its connection. */
      readonly connection: string;
      readonly status: TaskStatus;
    };
export type OpenTask = RufioTask & { readonly finished: false };

export interface TaskStatus {
  readonly conditions: readonly Condition[];
  readonly startTime: string | undefined;
}

/** The part of a Machine that its status and manually created Tasks need; the inventory handles its connection. */
export interface RufioMachine {
  readonly name: ObjectName;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleted: boolean;
  readonly connection: string;
  readonly secret: ObjectName | undefined;
  readonly status: MachineStatus;
}

export interface MachineStatus {
  readonly power: string | undefined;
  readonly conditions: readonly Condition[];
}

/** On everything that this worker creates. */
export const MANAGED_BY = { "app.kubernetes.io/managed-by": "pbnj-worker" } as const;

const Time = z
  .string()
  .nullish()
  .transform((time) => time || undefined);

const Metadata = z.object({
  name: z.string(),
  namespace: z.string(),
  uid: z.string(),
  resourceVersion: z.string(),
  deletionTimestamp: Time,
  labels: z.record(z.string(), z.string()).nullish(),
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
type Metadata = z.infer<typeof Metadata>;

export const JobObject = z.object({
  metadata: Metadata,
  spec: z.object({
    machineRef: z.object({ name: z.string(), namespace: z.string() }),
    tasks: z.array(z.unknown()),
  }),
  status: z.object({ conditions: Conditions, startTime: Time }).prefault({}),
});

export const TaskObject = z.object({
  metadata: Metadata,
  spec: z.object({ task: z.unknown(), connection: z.unknown() }),
  status: z.object({ conditions: Conditions, startTime: Time }).prefault({}),
});

export const MachineObject = z.object({
  metadata: Metadata,
  spec: z.object({
    connection: z.looseObject({
      authSecretRef: z.object({ name: z.string().optional(), namespace: z.string().optional() }).optional(),
    }),
  }),
  status: z
    .object({ powerState: z.string().optional(), conditions: Conditions })
    .prefault({})
    .transform(({ powerState, conditions }): MachineStatus => ({ power: powerState, conditions })),
});

/** Undefined for an invalid object. */
export function jobOf(object: unknown): RufioJob | undefined {
  const { success, data } = JobObject.safeParse(object);
  if (!success) return undefined;
  const { metadata, spec, status } = data;
  const about = { uid: metadata.uid, deleted: metadata.deletionTimestamp !== undefined };
  if (isFinished(status.conditions)) return { finished: true, ...about };
  return {
    finished: false,
    ...about,
    name: nameOf(metadata),
    resourceVersion: metadata.resourceVersion,
    machine: spec.machineRef,
    tasks: spec.tasks,
    status,
  };
}

/** Parses a Task. Finished Tasks remain until they are deleted, so little of them is kept. */
export function taskOf(object: unknown): RufioTask | undefined {
  const { success, data } = TaskObject.safeParse(object);
  if (!success) return undefined;
  const { metadata, spec, status } = data;
  const about = { uid: metadata.uid, owner: ownerOf(metadata) };
  if (isFinished(status.conditions)) {
    return { finished: true, end: isTrue(status.conditions, "Completed") ? "completed" : "failed", ...about };
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
    status,
  };
}

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
    connection: connectionDigest(spec.connection),
    secret: name ? { namespace, name } : undefined,
    status,
  };
}

export const ConnectionOf = z.object({ spec: z.object({ connection: z.record(z.string(), z.unknown()) }) });

export function isFinished(conditions: readonly Condition[]): boolean {
  return isTrue(conditions, "Completed") || isTrue(conditions, "Failed");
}

export function ownerOf({ ownerReferences }: Pick<Metadata, "ownerReferences">): Owner | undefined {
  const controller = ownerReferences?.find((reference) => reference.controller);
  const isJob =
    controller?.kind === KINDS.rufioJob.kind && controller.apiVersion === apiVersionOf(KINDS.rufioJob);
  return isJob ? { name: controller.name, uid: controller.uid } : undefined;
}

export function keyOf({ namespace, name }: ObjectName): string {
  return `${namespace}/${name}`;
}

/** The inverse of `keyOf`; neither part contains a slash. */
export function nameOfKey(key: string): ObjectName {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Equal for equal connections, whatever the order of their keys. */
function connectionDigest(connection: unknown): string {
  return createHash("sha256").update(canonical(connection)).digest("base64").slice(0, 22);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

function nameOf({ namespace, name }: Metadata): ObjectName {
  return { namespace, name };
}
