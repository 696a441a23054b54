import { z } from "zod";
import { RUFIO_BOOT_DEVICES, RufioBootDevice } from "../../../shared/contract/vocabulary.ts";
import { LONGEST_TIMER_MS } from "../../../shared/deadline.ts";
import { defined } from "../../../shared/defined.ts";
import { excessOf } from "../../../shared/input-limits.ts";
import { shortened } from "../../../shared/printable.ts";
import type { Action } from "../../core/action/action.ts";
import { RUFIO_AGENT_ID } from "../shared/source-agent-ids.ts";

/** Rufio's timeout (`doReconcile` of its Task controller). */
const TIMEOUT_MS = 600_000;
/** The part of the timeout for which the action waits for a power state. The rest is for reporting what it waited for. */
const REACH_SHARE = 0.9;
/** The longest duration that an action's input may have. */
const LONGEST_REACH_MS = 7 * 24 * 3_600_000;
/** How many unknown fields a message names, and how much of each. */
const MOST_NAMES = 5;
const LONGEST_NAME = 60;

export interface TaskWork {
  readonly action: string;
  /** Whether running it twice has the same effect as once. */
  readonly idempotent: boolean;
  readonly timeoutMs: number;
  readonly environment: Readonly<Record<string, string>>;
}

export type ReadTask = ({ readonly ok: true } & TaskWork) | { readonly ok: false; readonly reason: string };

/** The values of `resetType`, and of `SECURE_BOOT_KEYS` of the action `reset-secure-boot-keys`. */
const DATABASE_RESETS = { ResetAllKeysToDefault: "default", DeleteAllKeys: "delete-all" } as const;
const RESETS = { ...DATABASE_RESETS, DeletePK: "delete-pk" } as const;
/** The key databases that can be reset alone. */
const DATABASES = ["kek", "db", "dbx"];
/** The BIOS attribute with which Dell accepts keys of others. */
const KEY_POLICY = "SecureBootPolicy";

/** Actions of Rufio that no action of this project does in the same way, and what to use instead in a template. */
const INSTEAD: Readonly<Record<string, string>> = {
  secureBootCertificateImport: "enroll-secure-boot-key",
  networkBootConfig: "set-http-boot, set-nic-pxe or set-bios",
};

const powerAction = z.enum(["on", "off", "soft", "status", "cycle", "reset"]);
type PowerAction = z.infer<typeof powerAction>;
const virtualMediaAction = z.strictObject({ mediaURL: z.string().optional(), kind: z.string() });
const howToBoot = { persistent: z.boolean().optional(), efiBoot: z.boolean().optional() };

const enable = z.strictObject({ enable: z.boolean() });

/** Fields of both versions. Those of Secure Boot are proposed (tinkerbell 930 and 987): a released API server may drop them. */
const commonFields = {
  powerAction,
  virtualMediaAction,
  secureBoot: enable,
  secureBootResetKeys: z.strictObject({ resetType: z.enum(namesOf(RESETS)) }),
  secureBootDatabaseResetKeys: z.strictObject({
    database: z.string().toLowerCase().pipe(z.enum(DATABASES)),
    resetType: z.enum(namesOf(DATABASE_RESETS)),
  }),
  allowCustomSecureBootKeys: enable,
};
const CommonAction = z.object(commonFields).partial();
type CommonAction = z.infer<typeof CommonAction>;

const taskFields = {
  ...commonFields,
  oneTimeBootDeviceAction: z.strictObject({ device: z.array(z.string()), efiBoot: z.boolean().optional() }),
  bootDevice: z.strictObject({ device: z.string().optional(), ...howToBoot }),
};
/** `Action` of Rufio's v1alpha1 Jobs and Tasks. */
export const TaskAction = z.object(taskFields).partial().catchall(z.unknown());

const operationFields = {
  ...commonFields,
  bootDevice: z.strictObject({ name: z.string().optional(), ...howToBoot }),
};
/** `Operations` of v1alpha2 Jobs. */
export const Operation = z
  .object({ ...operationFields, timeoutSeconds: z.number() })
  .partial()
  .catchall(z.unknown());

/** Reads the action of a v1alpha1 Task. The reason for a refusal is one line, which becomes the Task's condition. */
export function readTask(task: unknown): ReadTask {
  const excess = excessOf(task, "rufioSpec");
  if (excess !== undefined) return refused(`the task ${excess}`);
  const parsed = TaskAction.safeParse(task ?? {});
  if (!parsed.success) return refused(problemOf(parsed.error.issues, "task"));
  const problem = notOne(Object.keys(parsed.data), taskFields, "Task");
  if (problem !== undefined) return refused(problem);
  const { oneTimeBootDeviceAction, bootDevice, ...common } = parsed.data;
  if (oneTimeBootDeviceAction) {
    const { device: devices, efiBoot } = oneTimeBootDeviceAction;
    const first = { device: devices[0], persistent: false, efiBoot };
    return bootWork("oneTimeBootDeviceAction.device", first, TIMEOUT_MS);
  }
  if (bootDevice) return bootWork("bootDevice.device", bootDevice, TIMEOUT_MS);
  return commonWork(common, TIMEOUT_MS);
}

/** Reads an operation of a v1alpha2 Job. The reason for a refusal is one line, which becomes the Job's condition. */
export function readOperation(operation: unknown): ReadTask {
  const excess = excessOf(operation, "rufioSpec");
  if (excess !== undefined) return refused(`the operation ${excess}`);
  const parsed = Operation.safeParse(operation ?? {});
  if (!parsed.success) return refused(problemOf(parsed.error.issues, "operation"));
  const { timeoutSeconds = 0, ...action } = parsed.data;
  const problem = notOne(Object.keys(action), operationFields, "operation");
  if (problem !== undefined) return refused(problem);
  if (timeoutSeconds < 0) return refused(`timeoutSeconds is ${timeoutSeconds}: must not be negative`);
  // Go omits 0, which means the default.
  const timeoutMs = timeoutSeconds === 0 ? TIMEOUT_MS : Math.min(timeoutSeconds * 1_000, LONGEST_TIMER_MS);
  const { bootDevice, ...common } = action;
  if (bootDevice) {
    const { name: device, ...how } = bootDevice;
    return bootWork("bootDevice.name", { device, ...how }, timeoutMs);
  }
  return commonWork(common, timeoutMs);
}

/** Explains which fields of a spec this worker does not know; undefined if it knows all. `instead` says what to use. */
export function unknownFields(
  spec: object,
  known: readonly string[],
  instead: Readonly<Record<string, string>> = {},
): string | undefined {
  const unknown = Object.keys(spec).filter((name) => !known.includes(name));
  if (unknown.length === 0) return undefined;
  const shown = unknown.slice(0, MOST_NAMES).map((name) => `spec.${shortened(name, LONGEST_NAME)}`);
  const others = unknown.length > shown.length ? [`${unknown.length - shown.length} more`] : [];
  const hints = unknown
    .flatMap((name) => (Object.hasOwn(instead, name) ? (instead[name] ?? []) : []))
    .slice(0, 1);
  return [`${[...shown, ...others].join(", ")} is not known to this worker`, ...hints].join(": ");
}

function problemOf([issue]: readonly z.core.$ZodIssue[], whole: string): string {
  const path = issue?.path.join(".") || whole;
  if (issue?.code === "unrecognized_keys") {
    return `${issue.keys.map((key) => `${path}.${key}`).join(", ")} is not known to this worker`;
  }
  return `${path}: ${issue?.message}`;
}

/** Explains why the named actions are not exactly one that this worker knows; undefined if they are. */
function notOne(named: readonly string[], known: object, noun: string): string | undefined {
  if (named.length === 0) return `no action specified in ${noun}, nothing to do`;
  if (named.length > 1) return `names ${named.join(" and ")}: ${article(noun)} does one thing`;
  const unknown = named.filter((name) => !Object.hasOwn(known, name));
  if (unknown.length === 0) return undefined;
  const [instead] = unknown.flatMap((name) => (Object.hasOwn(INSTEAD, name) ? (INSTEAD[name] ?? []) : []));
  return `${unknown.join(", ")} is not known to this worker${instead ? `: use the action ${instead} in a template` : ""}`;
}

function article(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

/** The action for one of the fields that both versions have. */
function commonWork(action: CommonAction, timeoutMs: number): ReadTask {
  const { powerAction: power, secureBoot, secureBootResetKeys: keys, virtualMediaAction: media } = action;
  const { secureBootDatabaseResetKeys: database, allowCustomSecureBootKeys: custom } = action;
  if (power) return powerWork(power, timeoutMs);
  if (secureBoot) return work("set-secure-boot", timeoutMs, { SECURE_BOOT: String(secureBoot.enable) });
  if (keys) return resetWork({ SECURE_BOOT_KEYS: RESETS[keys.resetType] }, timeoutMs);
  if (database) {
    const environment = {
      SECURE_BOOT_KEYS: DATABASE_RESETS[database.resetType],
      DATABASE: database.database,
    };
    return resetWork(environment, timeoutMs);
  }
  if (custom) {
    const policy = custom.enable ? "Custom" : "Standard";
    return work("set-bios", timeoutMs, { BIOS_ATTRIBUTES: `${KEY_POLICY}=${policy}` });
  }
  return mediaWork(media, timeoutMs);
}

function resetWork(environment: TaskWork["environment"], timeoutMs: number): ReadTask {
  return { ...work("reset-secure-boot-keys", timeoutMs, environment), idempotent: false };
}

/** The action for a power command. In Rufio, `off` is a hard power-off and `soft` a graceful one. */
function powerWork(power: PowerAction, timeoutMs: number): ReadTask {
  const within = `${Math.min(Math.floor(timeoutMs * REACH_SHARE), LONGEST_REACH_MS)}ms`;
  const reach = { STATE_TIMEOUT: within };
  switch (power) {
    case "on":
      return work("power-on", timeoutMs, reach);
    case "off":
      return work("power-off", timeoutMs, { MODE: "hard", ...reach });
    case "soft":
      return work("power-off", timeoutMs, { MODE: "soft", SOFT_TIMEOUT: within, ...reach });
    case "status":
      return work("power-status", timeoutMs, {});
    case "cycle":
    case "reset":
      return { ...work(`power-${power}`, timeoutMs, reach), idempotent: false };
    default:
      return power satisfies never;
  }
}

interface Boot {
  readonly device?: string | undefined;
  readonly persistent?: boolean | undefined;
  readonly efiBoot?: boolean | undefined;
}

/**
 * The action that sets the boot device. Go omits `efiBoot` if it is false. Without it, this worker leaves the boot mode
 * unchanged, whereas Rufio sets a Redfish BMC to legacy.
 */
function bootWork(field: string, { device, persistent, efiBoot }: Boot, timeoutMs: number): ReadTask {
  const known = RufioBootDevice.safeParse(device);
  if (!known.success) {
    return refused(`${field} is ${device || "missing"}: must be one of ${RUFIO_BOOT_DEVICES.join(", ")}`);
  }
  return work("set-boot-device", timeoutMs, {
    DEVICE: known.data,
    PERSISTENT: String(persistent ?? false),
    ...defined({ EFI_BOOT: efiBoot?.toString() }),
  });
}

function mediaWork(media: z.infer<typeof virtualMediaAction> | undefined, timeoutMs: number): ReadTask {
  const { mediaURL, kind } = media ?? {};
  if (kind !== "CD") return refused(`virtualMediaAction.kind is ${kind}: only CD can be inserted`);
  if (!mediaURL) return work("eject-virtual-media", timeoutMs, {});
  return work("insert-virtual-media", timeoutMs, { MEDIA_URL: mediaURL });
}

export interface TaskActionOptions {
  /** The `namespace/name` of the Job, or of a Task without a Job. */
  readonly workflowId: string;
  readonly task: { readonly name: string; readonly uid: string };
  readonly machine: string;
  /** Contains `{action}`, and optionally `{version}`. */
  readonly image: string;
  readonly version: string;
}

/** Builds the action for a Task. Its ID is the Task's UID, so that a recreated Task is a different action. */
export function actionOf(
  { action: name, timeoutMs, environment }: TaskWork,
  terms: TaskActionOptions,
): Action {
  const { workflowId, task, machine, image, version } = terms;
  return {
    workflowId,
    taskId: task.name,
    agentId: RUFIO_AGENT_ID,
    actionId: task.uid,
    name,
    image: image.replaceAll("{action}", name).replaceAll("{version}", version),
    timeoutMs,
    command: [],
    volumes: [],
    environment: { MACHINE: machine, ...environment },
  };
}

function work(action: string, timeoutMs: number, environment: TaskWork["environment"]) {
  return { ok: true, action, idempotent: true, timeoutMs, environment } as const;
}

function namesOf<Name extends string>(values: Readonly<Record<Name, string>>): readonly Name[] {
  return Object.keys(values) as Name[];
}

function refused(reason: string): ReadTask {
  return { ok: false, reason };
}
