import * as z from "zod/mini";
import { oneLine } from "../../../../contract/result.ts";
import { defined } from "../../../../defined.ts";
import type { OperationTask } from "../../../operations/task-port.ts";
import type { HttpAnswer } from "../service/http-client.ts";
import { samePath } from "../service/paths.ts";
import { describeMessages, isDenying, readDenial, readRefusal, textOfMessage } from "../service/refusal.ts";
import { lenient, Message, Messages } from "../service/schema.ts";

type KnownState = "running" | "staged" | "done" | "failed";

/**
 * States of background work, in lower case with letters only: TaskState and JobState (DSP8010), JobState of Dell,
 * Oem.Hpe.State of HPE's UpdateService. An unknown word means neither success nor failure.
 */
const STATES: Readonly<Record<string, KnownState>> = {
  new: "running",
  starting: "running",
  running: "running",
  stopping: "running",
  cancelling: "running",
  service: "running",
  continue: "running",
  validating: "running",
  downloading: "running",
  downloaded: "running",
  scheduling: "running",
  waiting: "running",
  uploading: "running",
  verifying: "running",
  writing: "running",
  updating: "running",
  flashing: "running",
  pending: "staged",
  suspended: "staged",
  scheduled: "staged",
  readyforexecution: "staged",
  rebootpending: "staged",
  pendingreboot: "staged",
  pendingactivation: "staged",
  completed: "done",
  complete: "done",
  rebootcompleted: "done",
  exception: "failed",
  killed: "failed",
  cancelled: "failed",
  canceled: "failed",
  interrupted: "failed",
  invalid: "failed",
  failed: "failed",
  jobfailed: "failed",
  completedwitherrors: "failed",
  rebootfailed: "failed",
  error: "failed",
};

/** The meaning of a BMC's word; undefined if it is unknown. */
export function stateOfWord(word: string): KnownState | undefined {
  const letters = word.toLowerCase().replace(/[^a-z]/g, "");
  return Object.hasOwn(STATES, letters) ? STATES[letters] : undefined;
}

const Text = lenient(z.string());
const Percent = lenient(z.number().check(z.nonnegative(), z.maximum(100)));
const Hpe = lenient(z.object({ State: Text, Result: lenient(Message), FlashProgressPercent: Percent }));

/** The used fields of a Task or a Job (DSP0268), a job of Dell, or HPE's UpdateService. */
const TaskBody = z.object({
  "@odata.id": Text,
  "@odata.type": Text,
  TaskState: Text,
  JobState: Text,
  TaskStatus: Text,
  JobStatus: Text,
  PercentComplete: Percent,
  TaskMonitor: Text,
  Messages,
  Oem: lenient(
    z.object({
      Dell: lenient(z.object({ JobState: Text, Message: Text, MessageId: Text })),
      Hpe,
      Hp: Hpe,
    }),
  ),
});

/** The task described by a body; `state` is absent if the body has none. */
export interface TaskReading extends Omit<OperationTask, "state"> {
  readonly state?: OperationTask["state"];
  /** Links to the task and its monitor. */
  readonly links: readonly string[];
  /** The job that continues the work of an ended task. */
  readonly job?: string;
}

/** Messages (Update and Base registries of the DMTF) of a task that takes effect at the next boot. */
const STAGED = /\.(AwaitToActivate|ResetRequired|RebootRequired|ApplyOnReset)$/;
const TO_JOB = /(^|\.)OperationTransitionedToJob$/;

/** Removes secrets from text. */
type Redact = (text: string) => string;

/** Reads a body. `isTask` means that the body is known to describe a task, so that the vendor's own state is sufficient. */
export function readTaskBody(body: unknown, redact: Redact, isTask: boolean): TaskReading {
  const { data: task } = TaskBody.safeParse(body);
  if (!task) return { links: [] };
  const { TaskState, JobState, TaskStatus, JobStatus, PercentComplete, Oem } = task;
  const hpe = Oem?.Hpe ?? Oem?.Hp;
  const own = [TaskState, JobState, Oem?.Dell?.JobState].filter((word) => word !== undefined);
  const words = hpe?.State !== undefined && (isTask || own.length > 0) ? [...own, hpe.State] : own;
  const messages = [
    ...task.Messages,
    ...ownMessages(body),
    ...ownMessages(Oem?.Dell),
    ...(hpe?.Result ? [hpe.Result] : []),
  ];
  const isCritical = [TaskStatus, JobStatus].some((status) => /^critical$/i.test(status ?? ""));
  const { state, word } = worst(words);
  const said = oneLine(describeMessages(messages, redact).text);
  const percent = PercentComplete ?? hpe?.FlashProgressPercent;
  const job = messages.find(({ MessageId = "" }) => TO_JOB.test(MessageId))?.MessageArgs?.[0];
  return {
    ...defined({
      state: state === "done" ? endOf(messages, isCritical) : state,
      word,
      percent: percent === undefined ? undefined : Math.round(percent),
      message: said === "" ? undefined : said,
      job: state === "done" ? job : undefined,
    }),
    links: [task.TaskMonitor, task["@odata.id"]].filter((link) => link !== undefined),
  };
}

/** The message of a Dell job in addition to its state. */
function ownMessages(job: unknown): readonly Message[] {
  const { data } = Message.safeParse(job);
  return data && (data.Message !== undefined || data.MessageId !== undefined) ? [data] : [];
}

const WORST = ["failed", "running", "unknown", "staged", "done"] as const;

/** The worst state of several words. A failure always counts, and work is not done while another word says that it runs. */
function worst(words: readonly string[]): {
  readonly state?: (typeof WORST)[number];
  readonly word?: string;
} {
  const read = words.map((word) => ({ word, state: stateOfWord(word) ?? ("unknown" as const) }));
  for (const state of WORST) {
    const found = read.find((each) => each.state === state);
    if (found) return found;
  }
  return {};
}

/** The meaning of "completed" in view of the other messages. */
function endOf(messages: readonly Message[], isCritical: boolean): OperationTask["state"] {
  if (isCritical) return "failed";
  if (messages.some(isDenying)) return "unknown";
  return messages.some(({ MessageId: id = "" }) => STAGED.test(id)) ? "staged" : "done";
}

/** Fields that only a task or a job has. */
const OWN_FIELDS = ["TaskStatus", "JobStatus", "TaskMonitor", "PercentComplete", "JobType", "HidePayload"];
const SUCCESS = /(^|\.)(Success|Accepted|Completed)$/;

/**
 * Whether an accepting answer of a task monitor without a state is the result of the request (DSP0266 section 12.2): an
 * empty 204, another resource, or a message of success. `{}`, an error, and a task without a state are not.
 */
export function isResult(
  { status, body, path }: { readonly status: number; readonly body: unknown; readonly path: string },
  monitor: string,
): boolean {
  if (status === 204) return true;
  if (typeof body !== "object" || body === null) return false;
  if (readDenial({ body }) !== "") return false;
  const { messages } = readRefusal({ body });
  if (messages.length > 0) return messages.every(({ MessageId = "" }) => SUCCESS.test(MessageId));
  if ("error" in body || OWN_FIELDS.some((name) => name in body)) return false;
  const { "@odata.id": id, "@odata.type": type } = TaskBody.safeParse(body).data ?? {};
  if (/#(Task|Job|DellJob)\b/.test(type ?? "")) return false;
  return id !== undefined && !(samePath(id, monitor) && samePath(path, monitor));
}

const NAMED = /\/redfish\/v1\/(?:TaskService\/(?:Tasks|TaskMonitors)|[\w./-]{1,200}\/Jobs)\/[\w.-]{0,100}\w/;

/** The path of a task that only a message of an accepting answer contains, in its arguments or text. */
export function namedTask(answer: Pick<HttpAnswer, "body">): string | undefined {
  const { messages } = readRefusal(answer);
  const texts = messages.flatMap((message) => [...(message.MessageArgs ?? []), textOfMessage(message)]);
  for (const text of texts) {
    const [path] = NAMED.exec(text) ?? [];
    if (path !== undefined) return path;
  }
  return undefined;
}
