import { KINDS } from "../../kubernetes/client/kinds.ts";
import { type NeededRight, ruleOf } from "../../kubernetes/client/needed-right.ts";
import type { RufioApiVersion } from "./rufio-api.ts";

const { rufioJob, rufioTask, rufioMachine, hardware, lease, secret } = KINDS;
const READ = ["get", "list", "watch"];

/** The API version, and whether the status of Hardware is written. */
interface RightsOptions {
  readonly api: RufioApiVersion;
  readonly hardware: boolean;
}

export function rufioRights({ api, hardware: writesHardware }: RightsOptions) {
  if (api === "v1alpha2") return [...JOB_RIGHTS, ...V1ALPHA2_RIGHTS];
  return [...JOB_RIGHTS, ...MACHINE_RIGHTS, ...(writesHardware ? HARDWARE_RIGHTS : [])];
}

/** The rights for Jobs of every version. The Lease's rule is for the namespace in `rufioLeaseNamespace`. */
const JOB_RIGHTS: readonly NeededRight[] = [
  { ...ruleOf(rufioJob, READ), scope: "watched", why: "to find pending Jobs" },
  {
    ...ruleOf(rufioJob, ["patch"], "status"),
    scope: "watched",
    why: "to say that a Job runs and how it ended, which Tinkerbell's controller waits for",
  },
  {
    ...ruleOf(lease, READ),
    scope: "own",
    why: "to stay idle while Rufio holds its Lease; without this right the worker does no Rufio work",
  },
];

/** The rights for Jobs of v1alpha2. */
const V1ALPHA2_RIGHTS: readonly NeededRight[] = [
  {
    ...ruleOf(hardware, ["list", "watch"]),
    scope: "watched",
    why: "to know the Hardware of a Job, and how its BMC is reached",
  },
  {
    ...ruleOf(secret, ["get"]),
    scope: "watched",
    why: "to log in at the BMC of a Hardware, and to start a Job once its Secret exists",
  },
];

/** The rights for Jobs of v1alpha1. */
const MACHINE_RIGHTS: readonly NeededRight[] = [
  {
    ...ruleOf(rufioTask, ["get", "list", "watch", "create", "delete"]),
    scope: "watched",
    why: "to create a Job's Tasks one after the other, and to delete one that a deleted Job of the same name has left",
  },
  {
    ...ruleOf(rufioTask, ["patch"], "status"),
    scope: "watched",
    why: "to say that a Task was started and how it ended",
  },
  {
    ...ruleOf(rufioMachine, READ),
    scope: "watched",
    why: "to know the Machine of a Job, and whose power state is to be read",
  },
  {
    ...ruleOf(rufioMachine, ["patch"], "status"),
    scope: "watched",
    why: "to write the power state of a Machine and whether it can be reached",
  },
  {
    ...ruleOf(secret, ["get"]),
    scope: "watched",
    why: "to log in at the BMC of a Machine for its power state, and to try a refused password again once its Secret has changed",
  },
];

/** The rights for the setting `rufioHardware`. */
const HARDWARE_RIGHTS: readonly NeededRight[] = [
  {
    ...ruleOf(hardware, ["list", "watch"]),
    scope: "watched",
    why: "to know which Hardware refers to a Machine, and what its status says",
    without: "the inventory status of Hardware is not written",
  },
  {
    ...ruleOf(hardware, ["patch"], "status"),
    scope: "watched",
    why: "to write what the Machine's BMC reports of the hardware",
    without: "the inventory status of Hardware is not written",
  },
];
