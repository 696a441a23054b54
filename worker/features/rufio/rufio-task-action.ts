import { z } from "zod";
import { RUFIO_BOOT_DEVICES, RufioBootDevice } from "../../../shared/contract/vocabulary.ts";
import { defined } from "../../../shared/defined.ts";
import type { Action } from "../../core/action/action.ts";
import { RUFIO_AGENT_ID } from "../../core/action/source-agent-ids.ts";

/** As in Rufio (`doReconcile` of its Task controller). */
const TIMEOUT_MS = 600_000;
/**
 * Rufio polls the power state until its timeout. The action must end before that, so that it can report what it waited
 * for.
 */
const REACH_WITHIN = "9m";

export interface TaskWork {
  readonly action: string;
  /** Whether running it twice has the same effect as once. */
  readonly idempotent: boolean;
  readonly environment: Readonly<Record<string, string>>;
}

export type ReadTask = ({ readonly ok: true } & TaskWork) | { readonly ok: false; readonly reason: string };

const fields = {
  powerAction: z.enum(["on", "off", "soft", "status", "cycle", "reset"]),
  oneTimeBootDeviceAction: z.object({ device: z.array(z.string()), efiBoot: z.boolean().optional() }),
  bootDevice: z.object({
    device: z.string().optional(),
    persistent: z.boolean().optional(),
    efiBoot: z.boolean().optional(),
  }),
  virtualMediaAction: z.object({ mediaURL: z.string().optional(), kind: z.string() }),
};

/** `Action` of Rufio's v1alpha1 Jobs and Tasks. */
const TaskAction = z.object(fields).partial().catchall(z.unknown());
type TaskAction = z.infer<typeof TaskAction>;

const NOTHING = "no action specified in Task, nothing to do";

/** Parses a Task. A problem is one line, which becomes the Task's condition. */
export function readTask(task: unknown): ReadTask {
  const parsed = TaskAction.safeParse(task ?? {});
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return refused(`${issue?.path.join(".") || "task"}: ${issue?.message}`);
  }
  const named = Object.keys(parsed.data);
  const unknown = named.filter((name) => !Object.hasOwn(fields, name));
  if (named.length === 0) return refused(NOTHING);
  if (named.length > 1) return refused(`names ${named.join(" and ")}: a Task does one thing`);
  if (unknown.length > 0) return refused(`${unknown.join(", ")} is not known to this worker`);
  return workOf(parsed.data);
}

function workOf({
  powerAction,
  oneTimeBootDeviceAction,
  bootDevice,
  virtualMediaAction,
}: TaskAction): ReadTask {
  if (powerAction) return { ok: true, ...POWER[powerAction] };
  if (oneTimeBootDeviceAction) {
    const { device: devices, efiBoot } = oneTimeBootDeviceAction;
    return boot("oneTimeBootDeviceAction.device", { device: devices[0], persistent: false, efiBoot });
  }
  if (bootDevice) return boot("bootDevice.device", bootDevice);
  const { mediaURL, kind } = virtualMediaAction ?? {};
  if (kind !== "CD") return refused(`virtualMediaAction.kind is ${kind}: only CD can be inserted`);
  if (!mediaURL) return work("eject-virtual-media", {});
  return work("insert-virtual-media", { MEDIA_URL: mediaURL });
}

/** In Rufio, `off` is a hard power-off and `soft` a graceful one. */
const POWER: Readonly<Record<NonNullable<TaskAction["powerAction"]>, TaskWork>> = {
  on: { action: "power-on", idempotent: true, environment: { STATE_TIMEOUT: REACH_WITHIN } },
  off: {
    action: "power-off",
    idempotent: true,
    environment: { MODE: "hard", STATE_TIMEOUT: REACH_WITHIN },
  },
  soft: {
    action: "power-off",
    idempotent: true,
    environment: { MODE: "soft", SOFT_TIMEOUT: REACH_WITHIN, STATE_TIMEOUT: REACH_WITHIN },
  },
  status: { action: "power-status", idempotent: true, environment: {} },
  cycle: { action: "power-cycle", idempotent: false, environment: { STATE_TIMEOUT: REACH_WITHIN } },
  reset: { action: "power-reset", idempotent: false, environment: { STATE_TIMEOUT: REACH_WITHIN } },
};

interface Boot {
  readonly device?: string | undefined;
  readonly persistent?: boolean | undefined;
  readonly efiBoot?: boolean | undefined;
}

/** Go omits a false `efiBoot`: absent leaves the boot mode unchanged, whereas Rufio sets a Redfish BMC to legacy. */
function boot(field: string, { device, persistent, efiBoot }: Boot): ReadTask {
  const known = RufioBootDevice.safeParse(device);
  if (!known.success) {
    return refused(`${field} is ${device || "missing"}: must be one of ${RUFIO_BOOT_DEVICES.join(", ")}`);
  }
  return work("set-boot-device", {
    DEVICE: known.data,
    PERSISTENT: String(persistent ?? false),
    ...defined({ EFI_BOOT: efiBoot?.toString() }),
  });
}

export interface TaskActionOptions {
  /** `namespace/name` of the Job, or of a Task without one. */
  readonly workflowId: string;
  readonly task: { readonly name: string; readonly uid: string };
  readonly machine: string;
  /** Contains `{action}`, and optionally `{version}`. */
  readonly image: string;
  readonly version: string;
}

/** The action for a Task. Its ID is the Task's UID, so that a recreated Task is another action. */
export function actionOf({ action: name, environment }: TaskWork, terms: TaskActionOptions): Action {
  const { workflowId, task, machine, image, version } = terms;
  return {
    workflowId,
    taskId: task.name,
    agentId: RUFIO_AGENT_ID,
    actionId: task.uid,
    name,
    image: image.replaceAll("{action}", name).replaceAll("{version}", version),
    timeoutMs: TIMEOUT_MS,
    command: [],
    volumes: [],
    environment: { MACHINE: machine, ...environment },
  };
}

function work(action: string, environment: TaskWork["environment"]): ReadTask {
  return { ok: true, action, idempotent: true, environment };
}

function refused(reason: string): ReadTask {
  return { ok: false, reason };
}
