import { KINDS } from "../../cluster/client/kinds.ts";
import type { NeededRight } from "../../cluster/client/needed-right.ts";

const { rufioJob, rufioTask, rufioMachine, lease, secret } = KINDS;

/** The Lease's rule is for the namespace of `rufioLeaseNamespace`. */
export const RIGHTS: readonly NeededRight[] = [
  {
    group: rufioJob.group,
    resource: rufioJob.resource,
    verbs: ["get", "list", "watch"],
    scope: "watched",
    why: "to find pending Jobs",
  },
  {
    group: rufioJob.group,
    resource: `${rufioJob.resource}/status`,
    verbs: ["patch"],
    scope: "watched",
    why: "to say that a Job runs and how it ended, which Tinkerbell's controller waits for",
  },
  {
    group: rufioTask.group,
    resource: rufioTask.resource,
    verbs: ["get", "list", "watch", "create", "delete"],
    scope: "watched",
    why: "to create a Job's Tasks one after the other, and to delete one that a deleted Job of the same name has left",
  },
  {
    group: rufioTask.group,
    resource: `${rufioTask.resource}/status`,
    verbs: ["patch"],
    scope: "watched",
    why: "to say that a Task was started and how it ended",
  },
  {
    group: rufioMachine.group,
    resource: rufioMachine.resource,
    verbs: ["get", "list", "watch"],
    scope: "watched",
    why: "to know the Machine of a Job, and whose power state is to be read",
  },
  {
    group: rufioMachine.group,
    resource: `${rufioMachine.resource}/status`,
    verbs: ["patch"],
    scope: "watched",
    why: "to write the power state of a Machine and whether it can be reached",
  },
  {
    group: lease.group,
    resource: lease.resource,
    verbs: ["get", "list", "watch"],
    scope: "own",
    why: "to stay idle while Rufio holds its Lease; without this right the worker does no Rufio work",
  },
  {
    group: secret.group,
    resource: secret.resource,
    verbs: ["get"],
    scope: "watched",
    why: "to log in at the BMC of a Machine for its power state, and to try a refused password again once its Secret has changed",
  },
];
