import { oneLine } from "../../../../contract/result.ts";
import { defined } from "../../../../defined.ts";
import type { FirmwareTask } from "../../../operations/firmware-driver.ts";
import { hasFailed, taskOf, UNDER_WAY } from "../resources/task.ts";
import { describeMessages } from "../service/refusal.ts";
import type { Task } from "../service/schema.ts";
import type { Service } from "../service/service.ts";

/** Messages (Update and Base registries of the DMTF) of a task whose firmware is active after the next boot. */
const STAGED = /\.(AwaitToActivate|ResetRequired|RebootRequired|ApplyOnReset)$/;

const NOT_NOW = [408, 409, 429];

/** Reads the monitor or the resource of a task once (DSP0266 section 12.2). An answer that says "not now" throws. */
export async function readUpdateTask(
  service: Service,
  path: string,
  signal: AbortSignal,
): Promise<FirmwareTask> {
  const request = { method: "GET", path } as const;
  const answer = await service.send(request, signal);
  const { status } = answer;
  if (status === 404 || status === 410) return { state: "gone" };
  const task = taskOf(answer);
  if (status >= 300) {
    const refusal = service.refusal(answer, request);
    if (status >= 500 || NOT_NOW.includes(status)) throw refusal;
    return { state: "failed", message: refusal.message };
  }
  const message = task && oneLine(describeMessages(task.Messages).text);
  const said = defined({ percent: percentOf(task), message: message === "" ? undefined : message });
  return { state: stateOf(status, task), ...said };
}

function stateOf(status: number, task: Task | undefined): FirmwareTask["state"] {
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
