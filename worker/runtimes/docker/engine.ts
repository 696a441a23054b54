import type { Duplex } from "node:stream";
import type { z } from "zod";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { defined } from "../../../shared/defined.ts";
import { LineSplitter } from "../../../shared/line-splitter.ts";
import type { ContainerSpec } from "./container-spec.ts";
import {
  EngineConnection,
  type EngineConnectionOptions,
  type EngineVersion,
  type OnChunk,
  parseAnswer,
} from "./engine-connection.ts";
import { EngineError } from "./engine-error.ts";
import {
  ContainerDetails,
  CreatedContainer,
  ImageDetails,
  type ListedContainer,
  ListedContainers,
  PullProgress,
} from "./engine-schema.ts";

const LONGEST_PROGRESS_LINE = 64 * 1024;

export interface LogsSelection {
  /** Reads until the container ends. */
  readonly follow: boolean;
  /** Reads only this number of lines from the end; otherwise everything that the engine has kept. */
  readonly tail?: number;
}

export interface PullRequest {
  /** The repository with its registry, without tag and digest. */
  readonly repository: string;
  /** A tag or a digest. */
  readonly version: string;
  /** The value of X-Registry-Auth. */
  readonly registryAuth?: string | undefined;
}

/**
 * The calls of the Docker Engine API that this worker needs; Podman serves the same API. Every call ends with its signal
 * and, unless noted, after the connection's request timeout. Failures are `EngineError`s.
 */
export class Engine {
  readonly #connection: EngineConnection;

  constructor(options: EngineConnectionOptions) {
    this.#connection = new EngineConnection(options);
  }

  describe(signal: AbortSignal): Promise<EngineVersion> {
    return this.#connection.describe(signal);
  }

  async inspectImage(reference: string, signal: AbortSignal): Promise<ImageDetails | undefined> {
    const path = `/images/${encodeURIComponent(reference)}/json`;
    return unlessStatus(404, this.#get(ImageDetails, path, "inspecting the image", signal));
  }

  /** Pulls an image. Fails with the registry's message. Has no timeout. */
  async pullImage(
    { repository, version, registryAuth }: PullRequest,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const doing = "pulling the image";
    const path = `/images/create?${new URLSearchParams({ fromImage: repository, tag: version })}`;
    const headers = defined({ "X-Registry-Auth": registryAuth });
    let failure: string | undefined;
    const lines = new LineSplitter(LONGEST_PROGRESS_LINE, (line) => {
      if (line.trim() === "") return;
      const progress = parseAnswer(PullProgress, line, doing);
      failure ??= progress.error;
      onProgress(progress);
    });
    try {
      const request = { method: "POST", path, headers, doing } as const;
      await this.#connection.stream(request, (chunk) => lines.push(chunk), signal);
      lines.end();
    } catch (thrown) {
      if (!(thrown instanceof EngineError) || thrown.status === undefined) throw thrown;
      failure = thrown.message.slice(`${doing}: `.length);
    }
    if (failure !== undefined) throw new EngineError(classOfPullFailure(failure), failure);
  }

  /** Creates a container. Resolves to its ID; undefined if the name is taken. */
  async createContainer(name: string, spec: ContainerSpec, signal: AbortSignal): Promise<string | undefined> {
    const doing = "creating the container";
    const path = `/containers/create?${new URLSearchParams({ name })}`;
    const asked = this.#connection.ask({ method: "POST", path, body: spec, doing }, signal);
    const text = await unlessStatus(409, asked);
    return text === undefined ? undefined : parseAnswer(CreatedContainer, text, doing).Id;
  }

  /** Connects to the container's stdin, and to its stdout and stderr, multiplexed. The caller owns the connection. */
  async attach(id: string, signal: AbortSignal): Promise<Duplex> {
    const path = `/containers/${id}/attach?stream=1&stdin=1&stdout=1&stderr=1`;
    return this.#connection.upgrade(path, "attaching to the container", signal);
  }

  async startContainer(id: string, signal: AbortSignal): Promise<void> {
    const path = `/containers/${id}/start`;
    await this.#connection.ask({ method: "POST", path, doing: "starting the container" }, signal);
  }

  /** Resolves once the container is not running. Has no timeout. */
  async waitContainer(id: string, signal: AbortSignal): Promise<void> {
    const path = `/containers/${id}/wait`;
    const request = { method: "POST", path, doing: "waiting for the container" } as const;
    await this.#connection.stream(request, () => undefined, signal);
  }

  /** Stops a container: SIGTERM (or the image's own stop signal), `graceMs`, SIGKILL. Resolves when it has ended. */
  async stopContainer(id: string, graceMs: number, signal: AbortSignal): Promise<void> {
    const seconds = Math.ceil(graceMs / 1_000);
    const path = `/containers/${id}/stop?t=${seconds}`;
    const timeoutMs = seconds * 1_000 + this.#connection.requestTimeoutMs;
    await this.#connection.ask({ method: "POST", path, doing: "stopping the container" }, signal, timeoutMs);
  }

  async killContainer(id: string, signal: AbortSignal): Promise<void> {
    const path = `/containers/${id}/kill`;
    await this.#connection.ask({ method: "POST", path, doing: "killing the container" }, signal);
  }

  async inspectContainer(idOrName: string, signal: AbortSignal): Promise<ContainerDetails | undefined> {
    const path = `/containers/${encodeURIComponent(idOrName)}/json`;
    return unlessStatus(404, this.#get(ContainerDetails, path, "inspecting the container", signal));
  }

  /** Lists all containers with this label, with any value, running or not. */
  async listContainers(label: string, signal: AbortSignal): Promise<readonly ListedContainer[]> {
    const filters = JSON.stringify({ label: [label] });
    const path = `/containers/json?${new URLSearchParams({ all: "1", filters })}`;
    return this.#get(ListedContainers, path, "listing containers", signal);
  }

  /** Reads the container's output, multiplexed, as fast as `onChunk` resolves. Has no timeout. */
  async readLogs(
    id: string,
    { follow, tail }: LogsSelection,
    onChunk: OnChunk,
    signal: AbortSignal,
  ): Promise<void> {
    const lines = tail === undefined ? "" : `&tail=${tail}`;
    const path = `/containers/${id}/logs?stdout=1&stderr=1&follow=${follow ? 1 : 0}${lines}`;
    const request = { method: "GET", path, doing: "reading the container's log" } as const;
    await this.#connection.stream(request, onChunk, signal);
  }

  /** Kills the container if it runs, and removes it with its anonymous volumes. A missing one is success. */
  async removeContainer(id: string, signal: AbortSignal): Promise<void> {
    const path = `/containers/${id}?force=1&v=1`;
    const doing = "removing the container";
    await unlessStatus(404, this.#connection.ask({ method: "DELETE", path, doing }, signal));
  }

  /** Removes a container that is not running. False if it runs, or is being started or removed. */
  async removeIdleContainer(id: string, signal: AbortSignal): Promise<boolean> {
    const request = {
      method: "DELETE",
      path: `/containers/${id}?v=1`,
      doing: "removing the container",
    } as const;
    const removed = unlessStatus(404, this.#connection.ask(request, signal)).then(() => true);
    return (await unlessStatus(409, removed)) ?? false;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #get<T>(schema: z.ZodType<T>, path: string, doing: string, signal: AbortSignal): Promise<T> {
    return parseAnswer(schema, await this.#connection.ask({ method: "GET", path, doing }, signal), doing);
  }
}

/** Resolves to undefined if the engine answers with that status. */
async function unlessStatus<T>(status: number, asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (thrown) {
    if (thrown instanceof EngineError && thrown.status === status) return undefined;
    throw thrown;
  }
}

/**
 * Texts of registries that refuse access. They have no code, and may be worded by the registry, the engine or the credential
 * helper.
 */
const REGISTRY_REFUSES =
  /unauthorized|denied|authentication required|no basic auth credentials|authorization (failed|required)|invalid username\/password|incorrect username or password|\b(status|status code|code|HTTP)\b[^\n]{0,20}\b40[13]\b|401 Unauthorized|403 Forbidden|unable to retrieve auth token|failed to parse "?X-Registry-Auth/i;
const NO_IMAGE = /not found|manifest unknown|no such image|invalid reference|repository name not known/i;
const BUSY = /toomanyrequests|too many requests|rate limit/i;

function classOfPullFailure(message: string): ErrorClass {
  // First: "pull rate limit" also mentions logging in.
  if (BUSY.test(message)) return "busy";
  if (REGISTRY_REFUSES.test(message)) return "auth";
  if (NO_IMAGE.test(message)) return "usage";
  return "unreachable";
}
