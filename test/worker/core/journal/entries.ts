import { actionKey } from "../../../../worker/core/action/action.ts";
import type { JournalEntry, JournalPhase } from "../../../../worker/core/action/entry.ts";

const AT = "2030-01-02T03:04:05.000Z";

/** The entry of an action in some phase. */
export function entryOf(
  actionId: string,
  phase: JournalPhase = "launching",
  more: { readonly acknowledgedAt?: string; readonly connected?: boolean; readonly name?: string } = {},
): JournalEntry {
  const { acknowledgedAt = AT, connected = true, name = "power-off" } = more;
  const workflowId = "default/workflow-1";
  const about = {
    key: actionKey({ workflowId, actionId }),
    action: {
      workflowId,
      taskId: "task-1",
      agentId: "pbnj-node-01",
      actionId,
      name,
      image: "registry.example/pbnj-worker/power-off:v1",
    },
    machine: "node-01",
    lockKey: "192.0.2.1",
    runtime: "process",
    connected,
    timeoutMs: 60_000,
    startedAt: AT,
  } as const;
  const handle = { pid: 1, start: 2, boot: "b" };
  const end = { state: "success", message: "off", stoppedAt: AT } as const;
  switch (phase) {
    case "launching":
      return { ...about, phase };
    case "launched":
      return { ...about, phase, handle };
    case "ended":
      return { ...about, phase, handle, end };
    case "rejected":
      return { ...about, phase, handle, end, rejectedAt: AT, code: "PermissionDenied" };
    case "acknowledged":
      return { ...about, phase, handle, end, acknowledgedAt };
    case "dropped":
      return { ...about, phase, handle, end, droppedAt: AT };
    default:
      return phase satisfies never;
  }
}
