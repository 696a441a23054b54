import type { Duplex } from "node:stream";
import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import { systemClock } from "../../../shared/clock.ts";
import { serialiseConnection } from "../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { defined } from "../../../shared/defined.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Action, ActionId } from "../../action/action.ts";
import { fieldsOf } from "../../action/action-status.ts";
import { bootTime } from "../../action/boot-time.ts";
import { launchName } from "../launch-name.ts";
import { inputTruncated, type Need } from "../orphan.ts";
import { concludeOutcome, failedLaunch, nothingToRemove } from "../outcome.ts";
import {
  type Adoption,
  type EndedAction,
  LaunchNotRecorded,
  type LaunchRequest,
  type OutputOptions,
  outputOptions,
  type ReturnedAction,
  type Runtime,
} from "../runtime.ts";
import { Engine } from "./engine.ts";
import { negotiateVersion } from "./engine-connection.ts";
import { EngineError } from "./engine-error.ts";
import type { ContainerDetails } from "./engine-schema.ts";
import { followContainer } from "./follow.ts";
import { ImageStore, type PullPolicy, type RegistryCredentials } from "./image-store.ts";
import { isOrphanContainer } from "./orphans.ts";
import { type ContainerOptions, type ContainerSpec, containerSpec, isContainerOf, LABEL } from "./spec.ts";

/** A taken name may soon be free. */
const CREATE_ATTEMPTS = 5;
/** The pause while a container is being started or removed. */
const STARTING_PAUSE_MS = 200;
const CLEAN_UP_MS = 60_000;
/** The engine may be starting, for example after a reboot. */
const ENGINE_BACKOFF: Backoff = { firstMs: 500, maxMs: 10_000 };

export interface DockerRuntimeOptions {
  readonly log: Logger;
  readonly container: ContainerOptions;
  readonly socketPath?: string;
  readonly pullPolicy?: PullPolicy;
  readonly registries?: readonly RegistryCredentials[];
  readonly pullTimeoutMs?: number;
  /** How long an action may clean up after SIGTERM. */
  readonly stopGraceMs?: number;
  /** For one ordinary response of the engine. */
  readonly requestTimeoutMs?: number;
}

/** The label of images that may run twice with the same effect as once. */
const IDEMPOTENT_LABEL = "pbnj-worker.idempotent";

/** For following a container, launched or adopted. */
type Followed = Pick<LaunchRequest, "timeoutMs" | "connection"> &
  OutputOptions &
  Partial<Pick<ReturnedAction, "clockSetMs">> & { readonly action: ActionId };

/** The action's container: new and not started, or found. */
type Claim =
  | { readonly kind: "created"; readonly id: string }
  | { readonly kind: "adopted"; readonly id: string; readonly details: ContainerDetails };

/**
 * Runs each action in a container, through the engine's API. The container's name is derived from workflow and action,
 * so the engine ensures that an action is launched only once: a restarted worker finds the name taken and adopts the
 * container.
 */
export class DockerRuntime implements Runtime {
  readonly name = "docker";
  readonly #engine: Engine;
  readonly #images: ImageStore;
  readonly #log: Logger;
  readonly #container: ContainerOptions;
  readonly #stopGraceMs: number;
  readonly #closing = new AbortController();

  constructor(options: DockerRuntimeOptions) {
    const { log, requestTimeoutMs, pullPolicy, registries, pullTimeoutMs } = options;
    this.#engine = new Engine({
      socketPath: options.socketPath ?? "/var/run/docker.sock",
      ...defined({ requestTimeoutMs }),
    });
    this.#images = new ImageStore({
      engine: this.#engine,
      log,
      ...defined({ policy: pullPolicy, credentials: registries, pullTimeoutMs }),
    });
    this.#log = log;
    this.#container = options.container;
    this.#stopGraceMs = options.stopGraceMs ?? 10_000;
  }

  async run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    const askedAt = new Date();
    let id: string | undefined;
    try {
      const image = await this.#images.provide(request.action.image, signal, request.terms?.pull);
      const spec = containerSpec(request, image.Config?.User ?? undefined, this.#container);
      const claim = await this.#claim(request.action, spec, signal);
      id = claim.id;
      if (claim.kind === "created") return await this.#launch(claim.id, request, signal);
      // It already runs: adopt it even if the launch cannot be recorded.
      await request.onLaunch?.({ container: claim.id }).catch(() => undefined);
      return await this.#adopt(claim, request, signal);
    } catch (thrown) {
      if (thrown instanceof LaunchNotRecorded) throw thrown;
      const [errorClass, reason] = failureOf(thrown, signal);
      const outcome = failedLaunch(errorClass, reason, askedAt, new Date());
      const left = id;
      if (left === undefined || this.#closing.signal.aborted) return nothingToRemove(outcome);
      return { outcome, remove: (bound) => this.#engine.removeContainer(left, bound) };
    }
  }

  async adopt(left: ReturnedAction, signal: AbortSignal): Promise<Adoption> {
    const details = await this.#findStarted(left, signal);
    if (details === "never-started") return { kind: "not-launched" };
    if (details === undefined || details.State.Status === "removing") return this.#lost(left, signal);
    const claim = { kind: "adopted", id: details.Id, details } as const;
    let ended: EndedAction;
    try {
      ended = await this.#adopt(claim, left, signal);
    } catch (thrown) {
      const [errorClass, reason] = failureOf(thrown, signal);
      const outcome = failedLaunch(errorClass, reason, left.startedAt, new Date());
      ended = { outcome, remove: (bound) => this.#engine.removeContainer(claim.id, bound) };
    }
    if (!inputTruncated(left.connected, ended.outcome.result)) return { kind: "ended", ended };
    await this.#discard(claim.id, left.action);
    return { kind: "not-launched" };
  }

  async sweep(keep: (key: string) => Need, signal: AbortSignal): Promise<number> {
    const { state, instance } = this.#container;
    const listed = await this.#engine.listContainers(LABEL.key, signal);
    const options = { state, instance, keep, nowMs: Date.now(), bootTime: bootTime() };
    const leftovers = listed.filter((container) => isOrphanContainer(container, options));
    for (const { Id } of leftovers) await this.#discard(Id);
    return leftovers.length;
  }

  /**
   * The container of an earlier launch; undefined if it started and is gone. The launch is recorded before the start:
   * without a handle it did not start.
   */
  async #findStarted(
    left: ReturnedAction,
    signal: AbortSignal,
  ): Promise<ContainerDetails | "never-started" | undefined> {
    for (;;) {
      const details = await this.#find(left, signal);
      if (!details || !isContainerOf(left.action, details.Config.Labels ?? {})) {
        return left.handle || left.damaged ? undefined : "never-started";
      }
      if (details.State.StartedAt) return details;
      if (await this.#removeUnlessStarted(details.Id, signal)) return "never-started";
    }
  }

  /** False if it was just being started for a worker that died. */
  async #removeUnlessStarted(id: string, signal: AbortSignal): Promise<boolean> {
    if (await this.#engine.removeIdleContainer(id, signal)) return true;
    await systemClock.sleep(STARTING_PAUSE_MS, signal);
    return false;
  }

  /** Finds the container of an earlier launch; retries until the engine responds. Rejects when the signal aborts. */
  async #find({ action }: ReturnedAction, signal: AbortSignal): Promise<ContainerDetails | undefined> {
    const bound = AbortSignal.any([signal, this.#closing.signal]);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#engine.inspectContainer(launchName(action), bound);
      } catch (thrown) {
        bound.throwIfAborted();
        const error = textOf(thrown);
        const fields = { ...fieldsOf(action), error };
        logOutage(this.#log, attempt === 1, fields, "container engine not responding, retrying");
      }
      await systemClock.sleep(backoffMs(ENGINE_BACKOFF, attempt), bound);
    }
  }

  async #lost({ action }: ReturnedAction, signal: AbortSignal): Promise<Adoption> {
    const image = await this.#engine.inspectImage(action.image, signal).catch(() => undefined);
    const idempotent = image?.Config?.Labels?.[IDEMPOTENT_LABEL] === "true";
    return {
      kind: "lost",
      reason: "the worker was restarted, and the action's container is gone",
      idempotent,
    };
  }

  /** Also rejects if the engine is too old. */
  async check(signal: AbortSignal): Promise<string> {
    const { Version, ApiVersion, MinAPIVersion } = await this.#engine.describe(signal);
    negotiateVersion(ApiVersion, MinAPIVersion);
    return `engine ${Version ?? "of an unknown version"}, API ${ApiVersion}`;
  }

  /** Detaches from running containers: a restarted worker adopts them. */
  async close(): Promise<void> {
    this.#closing.abort(
      new EngineError("cancelled", "the worker detached from the action, which keeps running"),
    );
    this.#images.close();
    await this.#engine.close();
  }

  /** Creates the action's container, or finds an existing one. */
  async #claim(action: Action, spec: ContainerSpec, signal: AbortSignal): Promise<Claim> {
    const name = launchName(action);
    for (let attempt = 0; attempt < CREATE_ATTEMPTS; attempt++) {
      const id = await this.#create(action, name, spec, signal);
      if (id !== undefined) return { kind: "created", id };
      const details = await this.#engine.inspectContainer(name, signal);
      if (!details) continue;
      if (!isContainerOf(action, details.Config.Labels ?? {})) {
        const text = `a container named ${name} exists that was not made for this action: remove it`;
        throw new EngineError("state", text);
      }
      // It never started, so nothing was done; its stdin may be consumed.
      if (details.State.StartedAt === undefined) await this.#removeUnlessStarted(details.Id, signal);
      else if (details.State.Status === "removing") await systemClock.sleep(STARTING_PAUSE_MS, signal);
      // It ended under an ID that may be reused: it belongs to an earlier workflow.
      else if (action.idMayReturn && hasEnded(details))
        await this.#engine.removeContainer(details.Id, signal);
      else return { kind: "adopted", id: details.Id, details };
    }
    throw new EngineError("state", `the container name ${name} is still in use`);
  }

  /** A create whose response was lost may have created the container, which is then removed. */
  async #create(
    action: Action,
    name: string,
    spec: ContainerSpec,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      return await this.#engine.createContainer(name, spec, signal);
    } catch (thrown) {
      if (thrown instanceof EngineError && thrown.status !== undefined) throw thrown;
      const cleanUp = AbortSignal.timeout(CLEAN_UP_MS);
      const details = await this.#engine.inspectContainer(name, cleanUp).catch(() => undefined);
      const labels = details?.Config.Labels ?? {};
      if (details?.State.Status === "created" && isContainerOf(action, labels)) {
        await this.#discard(details.Id, action);
      }
      throw thrown;
    }
  }

  async #launch(id: string, request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    let attachment: Duplex;
    try {
      await request.onLaunch?.({ container: id });
      attachment = await this.#start(id, request, signal);
    } catch (thrown) {
      await this.#discard(id, request.action);
      throw thrown;
    }
    return this.#follow({ id, attachment, timeoutMs: request.timeoutMs }, request, signal);
  }

  /**
   * Writes the connection before the start: the engine buffers it, and if the worker dies in between, the container
   * has either not run or its complete input.
   */
  async #start(id: string, request: LaunchRequest, signal: AbortSignal): Promise<Duplex> {
    const attachment = await this.#engine.attach(id, signal);
    try {
      if (request.connection) attachment.end(serialiseConnection(request.connection));
      await this.#engine.startContainer(id, signal);
      return attachment;
    } catch (thrown) {
      attachment.destroy();
      throw thrown;
    }
  }

  async #adopt(
    { id, details }: Claim & { kind: "adopted" },
    request: Followed,
    signal: AbortSignal,
  ): Promise<EndedAction> {
    const machine = request.connection?.machine;
    const { Status: status, StartedAt: startedAt, FinishedAt: finishedAt } = details.State;
    this.#log.info(
      { ...fieldsOf(request.action, machine), container: id.slice(0, 12), status },
      "action adopted",
    );
    const { timeoutMs, clockSetMs = 0 } = request;
    if (hasEnded(details)) {
      // An earlier worker may have stopped it at its timeout, without reporting it.
      const ranMs = startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : 0;
      return this.#follow({ id, timeoutMs, overdue: ranMs >= timeoutMs }, request, signal);
    }
    const spentMs = startedAt ? Date.now() - clockSetMs - startedAt.getTime() : 0;
    return this.#follow({ id, timeoutMs: timeoutMs - spentMs }, request, signal);
  }

  async #follow(
    started: {
      readonly id: string;
      readonly attachment?: Duplex;
      readonly timeoutMs: number;
      /** It was found ended, and had used up its time. */
      readonly overdue?: boolean;
    },
    request: Followed,
    signal: AbortSignal,
  ): Promise<EndedAction> {
    const { overdue, ...container } = started;
    const followed = await followContainer(
      {
        ...container,
        engine: this.#engine,
        stopGraceMs: this.#stopGraceMs,
        ...outputOptions(request),
        detached: this.#closing.signal,
      },
      signal,
    );
    const { written } = followed;
    const { State: state } = followed.details;
    const stopReason = overdue ? "timeout" : followed.stopReason;
    const stoppedAt = state.FinishedAt ?? new Date();
    const outcome = concludeOutcome({
      exitCode: state.ExitCode,
      outOfMemory: state.OOMKilled,
      ...defined({ stopReason }),
      ...written,
      timeoutMs: request.timeoutMs,
      startedAt: state.StartedAt ?? stoppedAt,
      stoppedAt,
    });
    return { outcome, remove: (bound) => this.#engine.removeContainer(started.id, bound) };
  }

  /** Removes a container without an outcome. */
  async #discard(id: string, action?: ActionId): Promise<void> {
    try {
      await this.#engine.removeContainer(id, AbortSignal.timeout(CLEAN_UP_MS));
    } catch (thrown) {
      const error = textOf(thrown);
      const about = action ? fieldsOf(action) : {};
      this.#log.warn({ ...about, container: id.slice(0, 12), error }, "container removal failed");
    }
  }
}

function failureOf(thrown: unknown, signal: AbortSignal): readonly [ErrorClass, string] {
  if (thrown instanceof EngineError) return [thrown.class, thrown.message];
  if (signal.aborted) return ["cancelled", "cancelled before it started"];
  return ["internal", textOf(thrown)];
}

function hasEnded({ State: { Status: status } }: ContainerDetails): boolean {
  return status === "exited" || status === "dead";
}
