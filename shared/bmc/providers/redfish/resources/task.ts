import * as z from "zod/mini";
import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { parseRetryAfterMs } from "../../../http/status-error.ts";
import { isFinal } from "../../../operations/read-back.ts";
import type { OperationTask, StartedTask } from "../../../operations/task-port.ts";
import { redact } from "../service/errors.ts";
import type { HttpAnswer, HttpRequest } from "../service/http-client.ts";
import { lastPart, pathKey, samePath } from "../service/paths.ts";
import { readRefusal } from "../service/refusal.ts";
import { lenient } from "../service/schema.ts";
import type { Service } from "../service/service.ts";
import type { ManagedManager } from "./managed-manager.ts";
import type { Members } from "./members.ts";
import { isResult, namedTask, readTaskBody, type TaskReading } from "./task-state.ts";

/** The write that started a task. Its body is kept in order to remove its secrets from messages. */
type StartingRequest = Pick<HttpRequest, "method" | "path" | "body">;

/** Another resource that shows the progress of the work, in addition to its task. */
interface Aside {
  readonly path: string;
  /** Its content before the request. While it is unchanged, it says nothing about this request. */
  readonly before: string;
}

/** A task or job that a write has started, with the results of all polls. It outlives the session. */
class BackgroundTask implements StartedTask {
  /** The path in the answer that started it. */
  readonly first: string;
  readonly request: StartingRequest;
  readonly aside: Aside | undefined;
  readonly startedMs: number;
  /** The time that the BMC asked to wait before the first poll. */
  readonly retryAfterMs: number | undefined;
  /** The paths to poll, the best first. */
  paths: readonly string[];
  /** The path at which a poll has found it. */
  found: string | undefined;
  wasSearched = false;
  /** When the permission to read it was first refused. */
  deniedMs: number | undefined;
  /** A state that is not an end, and when it was first seen. */
  vague: { readonly said: string; readonly sinceMs: number } | undefined;
  /** The result that its monitor returned. */
  result: OperationTask | undefined;
  /** The body of that result. */
  resultBody: unknown;
  /** The end; nothing changes after it. */
  end: OperationTask | undefined;

  constructor(
    request: StartingRequest,
    paths: readonly string[],
    { startedMs, retryAfterMs, aside }: Pick<BackgroundTask, "startedMs" | "retryAfterMs" | "aside">,
  ) {
    this.request = request;
    this.paths = paths;
    this.startedMs = startedMs;
    this.retryAfterMs = retryAfterMs;
    this.aside = aside;
    this.first = paths[0] ?? aside?.path ?? request.path;
  }

  get name(): string {
    return this.found ?? this.first;
  }
}

export type { BackgroundTask };

/** Paths that tasks, their monitors and jobs have. */
const TASK_PATH = /\/(Tasks|TaskMonitors?|Jobs)\//i;

/** Lists of tasks and jobs (DSP0266 section 12, DSP0268 JobService). */
const LISTS = ["/redfish/v1/TaskService/Tasks", "/redfish/v1/JobService/Jobs"];
const MOST_LISTED = 200;
const MOST_REQUESTS = 64;
const Listed = z.object({
  Id: lenient(z.string()),
  TaskMonitor: lenient(z.string()),
  Payload: lenient(z.object({ TargetUri: lenient(z.string()) })),
});

/** A BMC may work on a job for some seconds while its path already returns 404 (openstack/sushy, Dell). */
const APPEARS_MS = 30_000;
/** How long the BMC may refuse the permission to read before the refusal counts as final. */
const DENIED_MS = 60_000;
/** After this time, an unknown state counts as an end. */
const SETTLED_MS = 5_000;
/** Statuses of a monitor that mean "not now"; 5xx and those of gateways do so as well. */
const LATER = [408, 425, 429];
/** Statuses of a path without a readable task. */
const NOT_THERE = [404, 405, 410, 501];
const MISSING_ID = /(^|\.)(ResourceMissingAtURI|ResourceNotFound)$/;

interface TasksOptions {
  readonly service: Service;
  readonly members: Members;
  readonly manager: ManagedManager;
  readonly clock: Clock;
}

/**
 * Reads everything that runs in the background of a BMC: tasks, their monitors (DSP0266 section 12.2), jobs, and jobs of
 * vendors.
 */
export class Tasks {
  readonly #options: TasksOptions;

  constructor(options: TasksOptions) {
    this.#options = options;
  }

  /**
   * What an accepting answer has started: the monitor in its Location, the task in its body, or one that only a message
   * names, like Supermicro's BMCs answer to uploads (bmc-toolbox/bmclib pull request 399). Undefined if it names none.
   */
  startedBy(answer: HttpAnswer, request: StartingRequest, aside?: Aside): BackgroundTask | undefined {
    const { service, clock } = this.#options;
    const { status, headers, body } = answer;
    const said = readTaskBody(body, (text) => redact(text, request.body), false);
    const isTask = said.state !== undefined;
    const isMeant = (path: string | undefined) => path !== undefined && (isTask || TASK_PATH.test(path));
    const location = service.pathOf(headers["location"]);
    const links = said.links.map((link) => service.localPath(link)).filter(isMeant);
    const named = service.localPath(namedTask(answer));
    const all = [status === 202 || isMeant(location) ? location : undefined, ...links, named];
    const paths = new Map(all.flatMap((path) => (path === undefined ? [] : [[pathKey(path), path]])));
    if (paths.size === 0 && !isTask && !aside) return undefined;
    const task = new BackgroundTask(request, [...paths.values()], {
      startedMs: clock.monotonicMs(),
      retryAfterMs: parseRetryAfterMs(headers["retry-after"], clock.now()),
      aside,
    });
    const { state } = said;
    if (state === "done" || state === "failed" || (state !== undefined && paths.size === 0)) {
      task.end = operationTask(said, state);
    }
    return task;
  }

  /** Polls a task once. Throws for a refused login and for no answer; every other answer counts. */
  async look(task: StartedTask, signal: AbortSignal, appearsMs = APPEARS_MS): Promise<OperationTask> {
    if (!(task instanceof BackgroundTask)) return { state: "gone" };
    if (task.end) return task.end;
    const now = await this.#atPaths(task, signal, appearsMs);
    const seen = task.aside && now.state !== "done" ? await this.#aside(task.aside, task, now, signal) : now;
    if (["done", "failed", "gone"].includes(seen.state)) task.end = seen;
    return this.#settled(task, seen);
  }

  /**
   * Decides about a state that may be temporary: a job that runs immediately is scheduled for a moment, and an unknown state
   * may belong to a job that has just begun.
   */
  #settled(task: BackgroundTask, seen: OperationTask): OperationTask {
    if (seen.state !== "staged" && seen.state !== "unknown") {
      task.vague = undefined;
      return seen;
    }
    const nowMs = this.#options.clock.monotonicMs();
    const said = `${seen.state} ${seen.word}`;
    if (task.vague?.said !== said) task.vague = { said, sinceMs: nowMs };
    return nowMs - task.vague.sinceMs < SETTLED_MS ? { ...seen, state: "running" } : seen;
  }

  /** Polls the paths in order. A path that cannot answer is left out from then on. */
  async #atPaths(task: BackgroundTask, signal: AbortSignal, appearsMs: number): Promise<OperationTask> {
    const { service, clock } = this.#options;
    const redacting = (text: string) => redact(text, task.request.body);
    for (const path of task.paths) {
      const request = { method: "GET", path } as const;
      const answer = await this.#get(request, signal);
      if (answer instanceof BmcError) return this.#denied(task, answer);
      task.deniedMs = undefined;
      const { status, headers } = answer;
      const retryAfterMs = parseRetryAfterMs(headers["retry-after"], clock.now());
      if (isMissing(answer)) {
        if (task.found !== undefined) drop(task, path);
        continue;
      }
      if (status >= 400) {
        const refusal = service.refusal(answer, { ...request, body: task.request.body });
        const isLater = status >= 500 || LATER.includes(status);
        const said = { message: refusal.message, ...defined({ retryAfterMs }) };
        return { ...said, state: isLater ? "running" : "failed" };
      }
      task.found = path;
      const said = readTaskBody(answer.body, redacting, TASK_PATH.test(path));
      const job = service.localPath(said.job);
      if (job !== undefined && job !== path) {
        task.paths = [job];
        return { state: "running", ...defined({ message: said.message }) };
      }
      this.#learn(task, said);
      if (said.state !== undefined)
        return operationTask({ ...said, ...defined({ retryAfterMs }) }, said.state);
      if (status === 202) return { state: "running", ...defined({ retryAfterMs }) };
      const isGiven = isResult(answer, path);
      const { text } = readRefusal(answer, redacting);
      task.result = { state: isGiven ? "done" : "unknown", message: text || `GET ${path} shows no state` };
      if (text === "") task.resultBody = answer.body;
      drop(task, path);
    }
    return this.#withoutPath(task, signal, appearsMs);
  }

  /**
   * Handles a refused permission. BMCs that restart refuse permissions and grant them again; a permanent refusal is the
   * result of the request.
   */
  #denied(task: BackgroundTask, { message }: BmcError): OperationTask {
    const nowMs = this.#options.clock.monotonicMs();
    task.deniedMs ??= nowMs;
    return { state: nowMs - task.deniedMs < DENIED_MS ? "running" : "failed", message };
  }

  /** Concludes when no path shows the task, or none does any more: from the returned result, otherwise from the lists. */
  async #withoutPath(task: BackgroundTask, signal: AbortSignal, appearsMs: number): Promise<OperationTask> {
    const { clock } = this.#options;
    if (task.result) return task.result;
    const wasFound = task.found !== undefined;
    const isExpected = !wasFound && clock.monotonicMs() - task.startedMs < appearsMs;
    if (isExpected) return { state: "running", isMissing: true };
    if (wasFound && task.paths.length > 0) return { state: "running" };
    if (!task.wasSearched && task.first !== task.aside?.path) {
      task.wasSearched = true;
      const found = await this.#search(task, signal);
      if (found !== undefined) {
        task.paths = [found];
        return this.#atPaths(task, signal, appearsMs);
      }
    }
    return { state: "gone" };
  }

  /** Finds the task or job with the same ID or monitor, unless it is known to belong to another request. */
  async #search(task: BackgroundTask, signal: AbortSignal): Promise<string | undefined> {
    const { service, members } = this.#options;
    const id = lastPart(task.first);
    const isSame = (link: string | undefined, path: string) => {
      const local = service.localPath(link);
      return local === undefined ? undefined : samePath(local, path);
    };
    const requests = { left: MOST_REQUESTS };
    const limits = { members: MOST_LISTED, requests, unread: () => undefined, highestFirst: true };
    for (const list of [...LISTS, ...(await this.#makersLists(id, signal))]) {
      const listed = await orNone(members.read(list, Listed, signal, limits), signal);
      const found = listed?.find(({ path, value: { Id, TaskMonitor, Payload } }) => {
        if (isSame(Payload?.TargetUri, task.request.path) === false) return false;
        return isSame(TaskMonitor, task.first) ?? (Id === id || lastPart(path) === id);
      });
      if (found) return found.path;
    }
    return undefined;
  }

  /** Lists Dell's jobs, which belong to its manager (openstack/sushy-oem-idrac). */
  async #makersLists(id: string, signal: AbortSignal): Promise<readonly string[]> {
    if (!/^JID_/.test(id)) return [];
    const manager = await orNone(this.#options.manager.seen(signal), signal);
    return manager ? [`${manager.path}/Jobs`] : [];
  }

  /** The state in the vendor's resource, if it says more about the request than the task. */
  async #aside(
    { path, before }: Aside,
    task: BackgroundTask,
    now: OperationTask,
    signal: AbortSignal,
  ): Promise<OperationTask> {
    const answer = await this.#get({ method: "GET", path }, signal);
    if (answer instanceof BmcError || answer.status !== 200) return now;
    const said = readTaskBody(answer.body, (text) => redact(text, task.request.body), true);
    if (said.state === undefined || asideText(said) === before) return now;
    if (said.state === "failed") return operationTask(said, "failed");
    const isShown = now.state === "running" && task.found !== undefined;
    return isShown || !["running", "gone"].includes(now.state) ? now : operationTask(said, said.state);
  }

  /** Keeps links in a body to other places of the task, because its path may end before them. */
  #learn(task: BackgroundTask, { state, links }: TaskReading): void {
    const { service } = this.#options;
    for (const link of links) {
      const path = service.localPath(link);
      if (path === undefined || (state === undefined && !TASK_PATH.test(path))) continue;
      if (task.paths.length < MOST_PATHS && !task.paths.some((known) => samePath(known, path))) {
        task.paths = [...task.paths, path];
      }
    }
  }

  /** Sends a request. Returns the answer, or the refusal of a permission, which says nothing about the login. */
  async #get(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer | BmcError> {
    try {
      return await this.#options.service.send(request, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const error = BmcError.from(thrown);
      if (error.refused === "right") return error;
      throw new BmcError(error.class, error.message, { cause: thrown, uncertain: true });
    }
  }
}

const MOST_PATHS = 6;

/** The content of a vendor's resource before a request, for its `Aside`; undefined if it shows no progress. */
export function asideOf(path: string, body: unknown): Aside | undefined {
  const said = readTaskBody(body, (text) => text, true);
  return said.word === undefined ? undefined : { path, before: asideText(said) };
}

const asideText = ({ word, message }: Pick<TaskReading, "word" | "message">) =>
  JSON.stringify([word, message]);

/** Ignores a reading that fails, unless the login is refused. */
async function orNone<T>(reading: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await reading;
  } catch (thrown) {
    signal.throwIfAborted();
    const error = BmcError.from(thrown);
    if (isFinal(error)) throw error;
    return undefined;
  }
}

function drop(task: BackgroundTask, path: string): void {
  task.paths = task.paths.filter((other) => other !== path);
}

/** Whether nothing exists at a path, which some BMCs express with 400. */
function isMissing(answer: HttpAnswer): boolean {
  if (NOT_THERE.includes(answer.status)) return true;
  return answer.status === 400 && readRefusal(answer).messageIds.some((id) => MISSING_ID.test(id));
}

function operationTask(said: TaskReading, state: OperationTask["state"]): OperationTask {
  const { word, percent, message, retryAfterMs } = said;
  return { state, ...defined({ word, percent, message, retryAfterMs }) };
}
