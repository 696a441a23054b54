import * as z from "zod/mini";
import { parseImageAddress } from "../../shared/bmc/operations/image-address.ts";
import { RufioBootDevice } from "../../shared/contract/vocabulary.ts";
import { bootModeOf, MEDIA_URL_EXPECTED } from "../harness/input/machine-input.ts";
import { POWER_ACTIONS, type Task } from "./task.ts";

const MOST_TASKS = 100;

/** The message for a Boolean, because YAML 1.1, and tools based on it, read a bare `on` as true. */
const BARE_SWITCH = "is true or false: put on and off in quotes";

const PowerAction = z.enum(POWER_ACTIONS, {
  error: ({ input }) => (typeof input === "boolean" ? BARE_SWITCH : undefined),
});

const MediaUrl = z
  .string()
  .check(
    z.refine((url) => url === "" || parseImageAddress(url) !== undefined, { error: MEDIA_URL_EXPECTED }),
  );

const fields = {
  powerAction: z.optional(PowerAction),
  bootDevice: z.optional(
    z.strictObject({
      device: RufioBootDevice,
      persistent: z.optional(z.boolean()),
      efiBoot: z.optional(z.boolean()),
    }),
  ),
  oneTimeBootDeviceAction: z.optional(
    z.strictObject({
      device: z.array(RufioBootDevice).check(z.minLength(1)),
      efiBoot: z.optional(z.boolean()),
    }),
  ),
  virtualMediaAction: z.optional(z.strictObject({ mediaURL: z.optional(MediaUrl), kind: z.literal("CD") })),
};
const KINDS = Object.keys(fields);

const oneThing = z.superRefine<object>(
  (task, context) => {
    const named = Object.keys(task);
    const refuse = (message: string) => context.addIssue({ code: "custom", message, input: task });
    // Unknown keys have been removed by now and have their own problems.
    const isEmpty = named.length === 0 && context.issues.length === 0;
    if (isEmpty) refuse(`does nothing: name one of ${KINDS.join(", ")}`);
    if (named.length > 1) refuse(`names ${named.join(" and ")}: a task does one thing`);
  },
  { when: ({ value }) => typeof value === "object" && value !== null && !Array.isArray(value) },
);

/** One of Rufio's tasks (`Action` of its Job and Task, bmc.tinkerbell.org/v1alpha1) with Rufio's field names. */
const RufioTask = z.strictObject(fields).check(oneThing);
type RufioTask = z.infer<typeof RufioTask>;

export const TaskList = z.pipe(
  z
    .array(RufioTask)
    .check(z.minLength(1), z.maxLength(MOST_TASKS, { error: `has more than ${MOST_TASKS} tasks` })),
  z.transform((list): readonly Task[] => list.flatMap(tasksOf)),
);

/** Returns the tasks. The schema ensures that there is exactly one. */
function tasksOf(task: RufioTask): readonly Task[] {
  const { powerAction, bootDevice, oneTimeBootDeviceAction: oneTime, virtualMediaAction: media } = task;
  if (powerAction === "status") return [{ kind: "status" }];
  if (powerAction !== undefined) return [{ kind: "power", verb: powerAction }];
  if (bootDevice) {
    const { device, persistent = false, efiBoot } = bootDevice;
    return [{ kind: "boot", request: { device, persistent, mode: bootModeOf({ efiBoot }) } }];
  }
  if (oneTime) {
    const request = { persistent: false, mode: bootModeOf({ efiBoot: oneTime.efiBoot }) };
    return oneTime.device.slice(0, 1).map((device) => ({ kind: "boot", request: { ...request, device } }));
  }
  return media ? [{ kind: "media", url: media.mediaURL || undefined }] : [];
}
