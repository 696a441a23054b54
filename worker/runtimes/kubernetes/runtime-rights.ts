import type { NeededRight } from "../../kubernetes/client/needed-right.ts";

/** Permissions for running actions in pods, all in the worker's own namespace. */
export const RIGHTS: readonly NeededRight[] = [
  {
    group: "batch",
    resource: "jobs",
    verbs: ["create", "get", "list", "watch", "patch", "delete"],
    scope: "own",
    why: "Each action is a Job, which the worker creates, starts, watches, stops, and finds again after a restart",
  },
  {
    group: "",
    resource: "pods",
    verbs: ["list", "watch"],
    scope: "own",
    why: "The pod of a Job shows the progress and outcome of its action",
  },
  {
    group: "",
    resource: "pods",
    verbs: ["delete"],
    scope: "own",
    why: "An action that reaches its timeout is stopped at once",
    without: "the Job's own deadline stops it, as soon as the cluster's controller gets to it",
  },
  {
    group: "",
    resource: "pods/log",
    verbs: ["get"],
    scope: "own",
    why: "What an action logs goes into the worker's log",
    without: "action logs stay in the cluster, and results of more than 4 KiB are truncated",
  },
  {
    group: "",
    resource: "secrets",
    verbs: ["create"],
    scope: "own",
    why: "A machine's connection is passed in a separate Secret if its own Secret is not in this namespace; the cluster deletes it with its Job",
    without: "only machines whose Secrets are in this namespace can be acted on",
  },
  {
    group: "",
    resource: "events",
    verbs: ["list"],
    scope: "own",
    why: "Events show why a pod was not created or cannot mount its Secret",
    without: "such a failure is reported without its reason",
  },
];
