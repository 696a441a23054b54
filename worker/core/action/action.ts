import { hash } from "node:crypto";
import type { Hardware } from "../../../shared/bmc/operations/inventory.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { type ActionResult, oneLine } from "../../../shared/contract/result.ts";
import { defined } from "../../../shared/defined.ts";
import type { Secret } from "../../../shared/secret.ts";
import type { MachineFacts } from "./machine-facts.ts";

/** The identity of an action in a workflow, as the tink API gives it. */
export interface ActionId {
  /** `namespace/name`. */
  readonly workflowId: string;
  readonly taskId: string;
  readonly agentId: string;
  readonly actionId: string;
  readonly name: string;
}

/** The address and credentials of a BMC that came with a request. */
export interface DirectAccess {
  readonly host: string;
  readonly username: string;
  readonly password: Secret;
}

/** What came with a request and must not be written to disk: after a restart, it is gone. */
export interface ActionSecrets {
  /** In place of a machine. */
  readonly bmc?: DirectAccess;
  /** Secret inputs of the action, by variable. */
  readonly inputs?: Readonly<Record<string, Secret>>;
}

/**
 * A source's knowledge about IDs that return: anything found under an action's IDs may belong to an earlier run. `unknown` while
 * the server's answers may be stale.
 */
export interface ReturningIds {
  /** Which run of a returning ID an end belongs to that was settled `ageMs` ago. */
  readonly ownerOfEnd: (ageMs: number) => RunOwner;
  /** Which run of a returning ID the container or Job belongs to; it was launched at least `ageMs` ago. Absent if it is always this run. */
  readonly ownerOfLaunch?: (launch: { readonly hasEnded: boolean; readonly ageMs: number }) => RunOwner;
}

type RunOwner = "this-run" | "earlier-run" | "unknown";

/** An action to run, as every source of actions gives it to the worker. */
export interface Action extends ActionId {
  readonly image: string;
  /** 0 when the template sets none: the worker's default applies. */
  readonly timeoutMs: number;
  /** Arguments; the image's entrypoint stays. */
  readonly command: readonly string[];
  /** Each is `source:target[:options]`. */
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly networkNamespace?: string;
  readonly pidNamespace?: string;
  /** Arguments to run the same image with after the action timed out, or failed; in the deprecated API. */
  readonly onTimeout?: readonly string[];
  readonly onFailure?: readonly string[];
  /** Absent for IDs that are used once. */
  readonly returningIds?: ReturningIds;
  /** Why nothing but its IDs could be read: it is not run, and reported as failed with this reason. */
  readonly unreadable?: string;
  readonly secrets?: ActionSecrets;
  /**
   * A source inside the worker made it, and names a machine of any namespace in full. Not told by the agent ID, which a workflow may
   * have as well.
   */
  readonly anyNamespace?: true;
}

export type ActionState = "running" | "success" | "failed" | "timeout";

interface StatusFields {
  readonly action: ActionId;
  /** For the log, if it is known. */
  readonly machine?: string;
  readonly startedAt: Date;
  /** One line. */
  readonly message: string;
}

/** The report of an action's end. */
export interface EndStatus extends StatusFields {
  readonly state: Exclude<ActionState, "running">;
  readonly stoppedAt: Date;
}

export interface RunningStatus extends StatusFields {
  readonly state: "running";
  readonly stoppedAt?: never;
}

/** A report about an action. */
export type ActionStatus = EndStatus | RunningStatus;

/**
 * What became of a report. `acknowledged`: the server has it. `rejected`: the server, or a proxy before it, refused it; the report of an
 * end is kept and repeated. `dropped`: no server waits for it, because the workflow is gone. `unanswered`: not yet, it is made later.
 */
export type Delivery = "acknowledged" | "rejected" | "dropped" | "unanswered";

/** One line of an action's output, except the result line. */
export interface LogLine {
  readonly stream: "stdout" | "stderr";
  readonly line: string;
}

/** What the worker concludes about an action that ended. */
export interface Outcome {
  readonly ok: boolean;
  readonly class?: ErrorClass;
  /** One line: the action's own reason if it gave one. */
  readonly message: string;
  /** Absent if nothing was started. */
  readonly exitCode?: number;
  readonly startedAt: Date;
  readonly stoppedAt: Date;
  /** The worker stopped it at its timeout. */
  readonly timedOut: boolean;
  /** A signal ended it, from the worker or another process. */
  readonly killed: boolean;
  readonly result?: ActionResult;
  /** What the result says of the machine, redacted. */
  readonly machineFacts?: MachineFacts;
  /** If it is the result of `inventory`: what that read, redacted. */
  readonly hardware?: Hardware;
}

/**
 * The key of one action of one workflow. It names the action's container, process and journal entry, is the same after a
 * restart, and is valid in file names and labels.
 */
export function actionKey({ workflowId, actionId }: Pick<ActionId, "workflowId" | "actionId">): string {
  return hash("sha256", `${workflowId}\0${actionId}`).slice(0, 32);
}

export type LogFields = Readonly<Record<string, string>>;

export function endStatus(action: ActionId, outcome: Outcome, startedAt: Date, machine?: string): EndStatus {
  return {
    action,
    ...defined({ machine }),
    state: stateOf(outcome),
    startedAt,
    stoppedAt: outcome.stoppedAt,
    message: statusMessage(action, outcome),
  };
}

function stateOf(outcome: Outcome): EndStatus["state"] {
  if (outcome.ok) return "success";
  return outcome.timedOut ? "timeout" : "failed";
}

/** For the workflow: the action's own reason, with its class and exit code if it failed. */
function statusMessage(action: Pick<ActionId, "name">, outcome: Outcome): string {
  if (outcome.ok) return outcome.message;
  const code = outcome.exitCode === undefined ? "" : `, exit ${outcome.exitCode}`;
  const machine = outcome.result?.machine ? ` ${outcome.result.machine}` : "";
  return oneLine(
    `${action.name}${machine} failed (${outcome.class ?? "internal"}${code}): ${outcome.message}`,
  );
}

/** The fields of every log line about an action. */
export function fieldsOf(action: ActionId, machine?: string): LogFields {
  const { workflowId: workflow, taskId: task, name, agentId } = action;
  return { workflow, task, action: name, agentId, ...defined({ machine }) };
}

/** The namespace in a workflow ID `namespace/name`; undefined if it has none. */
export function namespaceOf({ workflowId = "" }: Partial<Pick<ActionId, "workflowId">>): string | undefined {
  const slash = workflowId.indexOf("/");
  return slash > 0 ? workflowId.slice(0, slash) : undefined;
}

/** The reason of a signal that stops an action because its workflow was deleted. */
export class WorkflowDeleted extends Error {
  override readonly name = "WorkflowDeleted";

  constructor(workflowId: string) {
    super(`the workflow ${workflowId} was deleted`);
  }
}

/** Whether a signal was aborted because the action's workflow was deleted: its end is then not reported. */
export function isWorkflowDeleted({ reason }: AbortSignal): boolean {
  return reason instanceof WorkflowDeleted;
}
