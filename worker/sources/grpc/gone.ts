import { Code, ConnectError } from "@connectrpc/connect";

/**
 * Whether the server's own words say that it has no such workflow, or that the workflow was recreated: tink server,
 * ReportActionStatus. The text decides as well as the code, because a proxy may answer with a gRPC status of its own.
 */
export function saysGone(thrown: unknown): boolean {
  const { code, isWireError, rawMessage } = ConnectError.from(thrown);
  if (!isWireError) return false;
  if (code === Code.NotFound) return /\b(action|workflow) not found\b/i.test(rawMessage);
  return code === Code.Internal && saysMissingWorkflow(rawMessage);
}

/**
 * The server answers Internal both when its store fails and when the workflow is gone. For the latter, the message ends with
 * the Kubernetes client's text, `Workflow.tinkerbell.org "name" not found`.
 */
function saysMissingWorkflow(message: string): boolean {
  const [, why = ""] = message.split("error getting workflow:");
  return why.trimEnd().endsWith(" not found");
}
