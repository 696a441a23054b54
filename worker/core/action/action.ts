import { hash } from "node:crypto";
import type { Hardware } from "../../../shared/bmc/operations/inventory.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { type ActionResult, oneLine } from "../../../shared/contract/result.ts";
import { defined } from "../../../shared/defined.ts";
import type { Secret } from "../../../shared/secret.ts";
import type { MachineFacts } from "./machine-facts.ts";

/** Anything that belongs to a workflow. */
export interface WorkflowMember {
  /** `namespace/name`. */
  readonly workflowId: string;
}

/** The two IDs that identify an action. */
export interface ActionRef extends WorkflowMember {
  readonly actionId: string;
}

/** The identity of an action in a workflow, as the tink API gives it. */
export interface ActionId extends ActionRef {
  readonly taskId: string;
  readonly agentId: string;
  readonly name: string;
}

/** The identity of an action, with its image. */
export interface ImageAction extends ActionId {
  readonly image: string;
}

/** The address and credentials of a BMC that came with a request. */
export interface DirectAccess {
  readonly host: string;
  readonly username: string;
  readonly password: Secret;
}

/** Secrets that came with a request. They are never written to disk, so they are lost at a restart. */
export interface ActionSecrets {
  /** Replaces the connection of a machine. */
  readonly bmc?: DirectAccess | undefined;
  /** Secret inputs of the action, by the name of their variable. */
  readonly inputs?: Readonly<Record<string, Secret>> | undefined;
}

/**
 * What a source knows about reused IDs: whatever is found under an action's IDs may belong to an earlier run. `unknown`
 * while the server's answers may be stale.
 */
export interface ReturningIds {
  /** Returns the run that an end belongs to, which was settled `ageMs` ago. */
  readonly ownerOfEnd: (ageMs: number) => RunOwner;
  /**
   * Returns the run that a container or Job belongs to, which was launched at least `ageMs` ago. Absent if it is always the
   * current run.
   */
  readonly ownerOfLaunch?: (launch: { readonly hasEnded: boolean; readonly ageMs: number }) => RunOwner;
}

type RunOwner = "this-run" | "earlier-run" | "unknown";

/** An action to run, as every source of actions gives it to the worker. */
export interface Action extends ImageAction {
  /** 0 if the template sets none; then the worker's default applies. */
  readonly timeoutMs: number;
  /** Arguments for the image's entrypoint. */
  readonly command: readonly string[];
  /** Each is `source:target[:options]`. */
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly networkNamespace?: string | undefined;
  readonly pidNamespace?: string | undefined;
  /** Arguments with which the same image runs after the action failed or timed out; only in the deprecated API. */
  readonly onTimeout?: readonly string[] | undefined;
  readonly onFailure?: readonly string[] | undefined;
  /** Absent for IDs that are used only once. */
  readonly returningIds?: ReturningIds | undefined;
  /** Why nothing but the action's IDs could be read. The action does not run and is reported as failed with this reason. */
  readonly unreadable?: string;
  readonly secrets?: ActionSecrets | undefined;
  /**
   * The action comes from a source inside the worker and may name a machine of any namespace. The agent ID does not prove
   * this, because a workflow may use the same one.
   */
  readonly anyNamespace?: true;
}

export type ActionState = "running" | "success" | "failed" | "timeout";

interface StatusFields {
  readonly action: ActionId;
  /** For the log; absent if it is unknown. */
  readonly machine?: string | undefined;
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
 * The result of a report. `acknowledged`: the server has it. `rejected`: the server or a proxy refused it; the report of an
 * end is kept and repeated. `dropped`: no server waits for it, because the workflow is gone. `unanswered`: it is postponed.
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
  readonly class?: ErrorClass | undefined;
  /** One line: the action's own reason, if there is one. */
  readonly message: string;
  /** Absent if nothing was launched. */
  readonly exitCode?: number | undefined;
  readonly startedAt: Date;
  readonly stoppedAt: Date;
  /** The worker stopped it at its timeout. */
  readonly timedOut: boolean;
  /** A signal ended it, from the worker or another process. */
  readonly killed: boolean;
  readonly result?: ActionResult | undefined;
  /** Facts about the machine from the result, redacted. */
  readonly machineFacts?: MachineFacts | undefined;
  /** The hardware from a result of `inventory`, redacted. */
  readonly hardware?: Hardware | undefined;
}

/**
 * The key of one action of one workflow. It names the action's container, process and journal entry, is the same after a
 * restart, and is valid in file names and labels.
 */
export function actionKey({ workflowId, actionId }: ActionRef): string {
  return hash("sha256", `${workflowId}\0${actionId}`).slice(0, 32);
}

export type LogFields = Readonly<Record<string, string>>;

export function endStatus(action: ActionId, outcome: Outcome, startedAt: Date, machine?: string): EndStatus {
  return {
    action,
    machine,
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

/** The status message for the workflow: the action's own reason and, after a failure, its class and exit code. */
function statusMessage(action: ActionId, outcome: Outcome): string {
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

/** Returns the namespace of a workflow ID `namespace/name`; undefined if it has none. */
export function namespaceOf({ workflowId = "" }: Partial<WorkflowMember>): string | undefined {
  const slash = workflowId.indexOf("/");
  return slash > 0 ? workflowId.slice(0, slash) : undefined;
}

/** The abort reason of a signal that stops an action because its workflow was deleted. */
export class WorkflowDeleted extends Error {
  override readonly name = "WorkflowDeleted";

  constructor(workflowId: string) {
    super(`the workflow ${workflowId} was deleted`);
  }
}

/** Whether the signal was aborted because the action's workflow was deleted. The action's end is then not reported. */
export function isWorkflowDeleted({ reason }: AbortSignal): boolean {
  return reason instanceof WorkflowDeleted;
}
