import * as z from "zod/mini";
import { oneLine } from "../../../../contract/result.ts";
import { defined } from "../../../../defined.ts";
import type { OperationTask } from "../../../operations/follow-task.ts";
import { hasFailed, taskOf, UNDER_WAY } from "../resources/task.ts";
import type { HttpAnswer } from "../service/http-client.ts";
import { describeMessages } from "../service/refusal.ts";
import type { Task } from "../service/schema.ts";
import type { Service } from "../service/service.ts";

/** Messages (Update and Base registries of the DMTF) of a task that takes effect at the next boot. */
const STAGED = /\.(AwaitToActivate|ResetRequired|RebootRequired|ApplyOnReset)$/;

/** Reads the monitor or the resource of a task once (DSP0266 section 12.2). An answer that is no task throws. */
export async function readTask(service: Service, path: string, signal: AbortSignal): Promise<OperationTask> {
  const request = { method: "GET", path } as const;
  const answer = await service.send(request, signal);
  const { status } = answer;
  if (status === 404 || status === 410) return { state: "gone" };
  const task = taskOf(answer);
  if (status >= 300) throw service.refusal(answer, request);
  const message = task && oneLine(describeMessages(task.Messages).text);
  const said = defined({ percent: percentOf(task), message: message === "" ? undefined : message });
  return { state: stateOf(status, task), ...said };
}

function stateOf(status: number, task: Task | undefined): OperationTask["state"] {
  if (task && hasFailed(task)) return "failed";
  const { TaskState: state, Messages: messages = [] } = task ?? {};
  if (state === "Pending" || state === "Suspended") return "staged";
  if (state === undefined ? status === 202 : UNDER_WAY.includes(state)) return "running";
  return messages.some(({ MessageId: id = "" }) => STAGED.test(id)) ? "staged" : "done";
}

function percentOf(task: Task | undefined): number | undefined {
  const percent = task?.PercentComplete;
  return percent !== undefined && percent >= 0 && percent <= 100 ? Math.round(percent) : undefined;
}

const Linked = z.object({ "@odata.id": z.string(), TaskState: z.string() });

/** The path of the task in an answer's body. */
export function taskLink(answer: HttpAnswer): string | undefined {
  const parsed = Linked.safeParse(answer.body);
  return parsed.success ? parsed.data["@odata.id"] : undefined;
}
