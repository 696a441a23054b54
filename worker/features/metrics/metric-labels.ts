import { Code } from "@connectrpc/connect";
import { DesiredState } from "../../../shared/contract/desired-state.ts";
import { ErrorClass } from "../../../shared/contract/error-class.ts";
import { SessionProvider } from "../../../shared/contract/vocabulary.ts";
import { watchedFileNames } from "../../config/reload.ts";
import { healthCheckNames } from "../shared/facts.ts";

/** Replaces unexpected values, for example of a foreign image or an unknown code. */
export const OTHER = "other";
/** Replaces an absent value. */
export const NONE = "none";

/** The names of gRPC's status codes (gRPC, statuscodes.md), as the transport spells them. */
export const GRPC_CODES = ["OK", ...Object.values(Code).filter((code) => typeof code === "string")];

interface LabelDefinition {
  /** The label's name in the metrics, if it is not the key. */
  readonly name?: string;
  readonly help: string;
  /** All possible values; absent if there is only one per worker, or if they are the action names. */
  readonly values?: readonly string[];
}

/** All labels. None contains a machine, workflow or agent ID, because their number is unlimited. */
export const labels = {
  action: {
    help: `the action's name; \`${OTHER}\` for images of other projects`,
  },
  provider: {
    help: `the provider that the action used; \`${NONE}\` if the action does not report one`,
    values: [...SessionProvider.options, NONE],
  },
  class: {
    help: `why it failed; \`${NONE}\` for a success`,
    values: [...ErrorClass.options, NONE],
  },
  failure_class: { name: "class", help: "why it failed", values: ErrorClass.options },
  runtime: {
    help: "the runtime that launches the action",
    values: ["docker", "kubernetes", "process", "in-process", OTHER],
  },
  lane_state: {
    name: "state",
    help: "`waiting` for a workflow, `polling` for an action, `busy` with an action, `failing` because the server does not answer",
    values: ["waiting", "polling", "busy", "failing"],
  },
  code: { help: "the gRPC code's name, such as `Unavailable`", values: [...GRPC_CODES, OTHER] },
  poll_result: {
    name: "result",
    help: "`action`, `idle` when there is none to run, or `failed`",
    values: ["action", "idle", "failed"],
  },
  report_state: {
    name: "state",
    help: "the state that is reported",
    values: ["running", "success", "failed", "timeout"],
  },
  delivery: {
    help: "`rejected` when the server or a proxy first refuses it (the worker repeats it), `dropped` if no workflow waits for it, `unanswered` if the worker stopped before the acknowledgement",
    values: ["acknowledged", "rejected", "dropped", "unanswered"],
  },
  journal_step: { name: "step", help: "what was done to an entry", values: ["write", "remove"] },
  made: { name: "result", help: "`failed`, for example on a full disk", values: ["ok", "failed"] },
  file: { help: "the setting that names the file", values: watchedFileNames },
  taken: {
    name: "result",
    help: "`refused` keeps the last valid file",
    values: ["taken", "refused"],
  },
  setting: { help: "a key of the desired state", values: Object.keys(DesiredState.shape) },
  source: { help: "the name of a cluster that machines are read from" },
  lease: { help: "the name of the leader election's Lease" },
  check: { help: "a check of /healthz and /readyz", values: healthCheckNames },
  version: { help: "the version of the worker" },
  node_version: { help: "the version of Node" },
} as const satisfies Readonly<Record<string, LabelDefinition>>;

export type LabelName = keyof typeof labels;

const definitions: ReadonlyMap<string, LabelDefinition> = new Map(Object.entries(labels));

/** A label's name in the metrics. */
export function labelText(label: string): string {
  return definitions.get(label)?.name ?? label;
}

/** All possible values of a label, if they do not depend on the worker. */
export function labelValues(label: string): readonly string[] | undefined {
  return definitions.get(label)?.values;
}
