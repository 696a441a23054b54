import { randomUUID } from "node:crypto";
import { Connection } from "../../../shared/contract/connection.ts";
import type { Action, LogLine } from "../../../worker/core/action/action.ts";
import type { LaunchRequest } from "../../../worker/core/ports/runtime.ts";

export const canary = "canary-5f1c-password";

/** A request to run the scripted action with these steps, and the lines it logs. */
export function scriptedRequest(
  steps: readonly string[],
  options: {
    readonly timeoutMs?: number;
    readonly connected?: boolean;
    readonly action?: Partial<Action>;
  } = {},
): { readonly request: LaunchRequest; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const request: LaunchRequest = {
    action: {
      workflowId: `default/${randomUUID()}`,
      taskId: "task-1",
      agentId: "pbnj",
      actionId: randomUUID(),
      name: "Scripted action",
      image: "localhost/pbnj-worker/scripted:test",
      timeoutMs: 0,
      command: steps,
      volumes: [],
      environment: {},
      ...options.action,
    },
    ...(options.connected ? { connection: testConnection() } : {}),
    timeoutMs: options.timeoutMs ?? 60_000,
    onLog: (line) => lines.push(line),
  };
  return { request, lines };
}

export function testConnection(): Connection {
  return Connection.parse({ machine: "m1", host: "bmc.example", username: "admin", password: canary });
}

export function resultStep(result: Readonly<Record<string, unknown>>): string {
  return `result:${JSON.stringify({ action: "scripted", ok: true, message: "done", durationMs: 1, roundTrips: 2, ...result })}`;
}
