import type { Duplex } from "node:stream";
import { systemClock } from "../../../shared/clock.ts";
import { serialiseConnection } from "../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { defined } from "../../../shared/defined.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { type Action, type ActionId, fieldsOf, type Outcome } from "../../action/action.ts";
import { bootTime } from "../../action/boot-time.ts";
import { findLaunched, type Launched } from "../find-launched.ts";
import { launchName } from "../launch-name.ts";
import { inputTruncated, isOrphan, type Need, ownerLabels } from "../orphan.ts";
import { concludeOutcome, failedLaunch, nothingToRemove } from "../outcome.ts";
import {
  type Adoption,
  type EarlierRun,
  type EndedAction,
  type FollowRequest,
  type LaunchRequest,
  NotLaunched,
  outputOptions,
  type ReturnedAction,
  type Runtime,
} from "../runtime.ts";
import { Engine } from "./engine.ts";
import { type EngineConnectionOptions, negotiateVersion } from "./engine-connection.ts";
import { EngineError } from "./engine-error.ts";
import type { ContainerDetails } from "./engine-schema.ts";
import { followContainer } from "./follow.ts";
import { ImageStore, type ImageStoreOptions } from "./image-store.ts";
import { type ContainerOptions, type ContainerSpec, containerSpec, isContainerOf, LABEL } from "./spec.ts";

const CREATE_ATTEMPTS = 5;
/** The pause while a container is being started or removed. */
const STARTING_PAUSE_MS = 200;
const CLEAN_UP_MS = 60_000;

export interface DockerRuntimeOptions
  extends Omit<ImageStoreOptions, "engine">,
    Partial<EngineConnectionOptions> {
  readonly container: ContainerOptions;
  /** How long an action may clean up after SIGTERM. */
  readonly stopGraceMs?: number;
}

/** The label of images that may run twice with the same effect as once. */
const IDEMPOTENT_LABEL = "pbnj-worker.idempotent";

interface Claim {
  readonly id: string;
  /** Of a container that was launched before. */
  readonly details?: ContainerDetails;
}

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
    const { log, container, socketPath = "/var/run/docker.sock", stopGraceMs = 10_000 } = options;
    this.#engine = new Engine({ ...options, socketPath });
    this.#images = new ImageStore({ ...options, engine: this.#engine });
    this.#log = log;
    this.#container = container;
    this.#stopGraceMs = stopGraceMs;
  }

  async run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    const askedAt = new Date();
    let id: string | undefined;
    try {
      const { action, terms, onProgress } = request;
      const image = await this.#images.provide(action.image, signal, { policy: terms?.pull, onProgress });
      const spec = containerSpec(request, image.Config?.User ?? undefined, this.#container);
      const claim = await this.#claim(request.action, spec, signal);
      id = claim.id;
      if (!claim.details) return await this.#launch(claim.id, request, signal);
      // It already runs: adopt it even if the launch cannot be recorded.
      await request.onLaunch?.({ container: claim.id }).catch(() => undefined);
      return await this.#adopt(claim.details, request, signal);
    } catch (thrown) {
      if (thrown instanceof NotLaunched) throw thrown;
      const failure = thrown instanceof CreateUnanswered ? thrown.cause : thrown;
      const outcome = failedLaunch(...failureOf(failure, signal), askedAt);
      if (this.#closing.signal.aborted) return nothingToRemove(outcome);
      if (thrown instanceof CreateUnanswered) {
        return { outcome, remove: (bound) => this.#removeCreated(request.action, thrown.spec, bound) };
      }
      return id === undefined ? nothingToRemove(outcome) : this.#ended(id, outcome);
    }
  }

  async adopt(left: ReturnedAction, signal: AbortSignal): Promise<Adoption> {
    const launched: Launched<ContainerDetails> = {
      find: (name, bound) => this.#engine.inspectContainer(name, bound),
      isOf: (action, { Config }) => isContainerOf(action, Config.Labels ?? {}),
      hasStarted: ({ State }) => State.StartedAt !== undefined,
      remove: ({ Id }) => this.#removeUnlessStarted(Id, signal),
      logOutage: (isFirst, fields) =>
        logOutage(this.#log, isFirst, fields, "container engine not responding, retrying"),
    };
    const bound = AbortSignal.any([signal, this.#closing.signal]);
    const details = await findLaunched(left, launched, systemClock, bound);
    if (details === "never-started") return { kind: "not-launched" };
    if (details === undefined || details.State.Status === "removing") return this.#lost(left, signal);
    const ended = await this.#adopt(details, left, signal).catch((thrown: unknown) =>
      this.#ended(details.Id, failedLaunch(...failureOf(thrown, signal), left.startedAt)),
    );
    if (!inputTruncated(left.connected, ended.outcome.result)) return { kind: "ended", ended };
    await this.#discard(details.Id, left.action);
    return { kind: "not-launched" };
  }

  async earlierRun(action: ActionId, signal: AbortSignal): Promise<EarlierRun | undefined> {
    const details = await this.#engine.inspectContainer(launchName(action), signal);
    const startedAt = details?.State.StartedAt;
    if (!details || !startedAt || !isContainerOf(action, details.Config.Labels ?? {})) return undefined;
    return {
      hasEnded: hasEnded(details),
      ageMs: Date.now() - startedAt.getTime(),
      remove: (bound) => this.#engine.removeContainer(details.Id, bound),
    };
  }

  #ended(id: string, outcome: Outcome): EndedAction {
    return { outcome, remove: (bound) => this.#engine.removeContainer(id, bound) };
  }

  async sweep(keep: (key: string) => Need, signal: AbortSignal): Promise<number> {
    const { state, instance } = this.#container;
    const listed = await this.#engine.listContainers(LABEL.key, signal);
    const options = { state, instance, keep, nowMs: Date.now(), bootTime: bootTime() };
    const orphans = listed.filter(({ Labels, State }) =>
      isOrphan(ownerLabels(Labels ?? {}, LABEL), options, State === "exited" || State === "dead"),
    );
    for (const { Id } of orphans) await this.#discard(Id);
    return orphans.length;
  }

  /** It may just be being started for a worker that died. */
  async #removeUnlessStarted(id: string, signal: AbortSignal): Promise<"removed" | "started"> {
    if (await this.#engine.removeIdleContainer(id, signal)) return "removed";
    await systemClock.sleep(STARTING_PAUSE_MS, signal);
    return "started";
  }

  async #lost({ action }: ReturnedAction, signal: AbortSignal): Promise<Adoption> {
    const image = await this.#engine.inspectImage(action.image, signal).catch(() => undefined);
    const idempotent = image?.Config?.Labels?.[IDEMPOTENT_LABEL] === "true";
    const reason = "the worker was restarted, and the action's container is gone";
    return { kind: "lost", reason, idempotent };
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

  async #claim(action: Action, spec: ContainerSpec, signal: AbortSignal): Promise<Claim> {
    const name = launchName(action);
    for (let attempt = 0; attempt < CREATE_ATTEMPTS; attempt++) {
      const id = await this.#create(name, spec, signal);
      if (id !== undefined) return { id };
      const details = await this.#engine.inspectContainer(name, signal);
      if (!details) continue;
      if (!isContainerOf(action, details.Config.Labels ?? {})) {
        const text = `a container named ${name} exists that was not made for this action: remove it`;
        throw new EngineError("state", text);
      }
      // It never started, so nothing was done; its stdin may be consumed.
      if (details.State.StartedAt === undefined) await this.#removeUnlessStarted(details.Id, signal);
      else if (details.State.Status === "removing") await systemClock.sleep(STARTING_PAUSE_MS, signal);
      else return { id: details.Id, details };
    }
    throw new EngineError("state", `the container name ${name} is still in use`);
  }

  async #create(name: string, spec: ContainerSpec, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#engine.createContainer(name, spec, signal);
    } catch (thrown) {
      if (thrown instanceof EngineError && thrown.status !== undefined) throw thrown;
      throw new CreateUnanswered(thrown, spec);
    }
  }

  /** Removes what a create without a response may have created: a container of this deadline that never started. */
  async #removeCreated(action: Action, spec: ContainerSpec, signal: AbortSignal): Promise<void> {
    const details = await this.#engine.inspectContainer(launchName(action), signal);
    const labels = details?.Config.Labels ?? {};
    const isOurs = isContainerOf(action, labels) && labels[LABEL.deadline] === spec.Labels[LABEL.deadline];
    if (details?.State.Status === "created" && isOurs) await this.#engine.removeContainer(details.Id, signal);
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

  async #adopt(details: ContainerDetails, request: FollowRequest, signal: AbortSignal): Promise<EndedAction> {
    const { Id: id, State: state } = details;
    const { Status: status, StartedAt: startedAt, FinishedAt: finishedAt } = state;
    const fields = fieldsOf(request.action, request.connection?.machine);
    this.#log.info({ ...fields, container: id.slice(0, 12), status }, "action adopted");
    const { timeoutMs, clockSetMs = 0 } = request;
    if (hasEnded(details)) {
      // An earlier worker may have stopped it at its timeout, without reporting it.
      const ranMs = startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : 0;
      return this.#follow({ id, timeoutMs, overdue: ranMs >= timeoutMs }, request, signal);
    }
    // The engine's clock may be ahead.
    const spentMs = startedAt ? Math.max(0, Date.now() - clockSetMs - startedAt.getTime()) : 0;
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
    request: FollowRequest,
    signal: AbortSignal,
  ): Promise<EndedAction> {
    const { overdue, ...container } = started;
    const [engine, stopGraceMs, detached] = [this.#engine, this.#stopGraceMs, this.#closing.signal];
    const options = { ...container, engine, stopGraceMs, ...outputOptions(request), detached };
    const { written, details, ...followed } = await followContainer(options, signal);
    const { State: state } = details;
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
    return this.#ended(started.id, outcome);
  }

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

/** The engine may or may not have created the container. */
class CreateUnanswered extends Error {
  readonly spec: ContainerSpec;

  constructor(cause: unknown, spec: ContainerSpec) {
    super("the engine did not answer", { cause });
    this.spec = spec;
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
