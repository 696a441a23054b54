import type { Duplex } from "node:stream";
import { systemClock } from "../../../shared/clock.ts";
import { serialiseConnection } from "../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { engineImage } from "../../../shared/contract/image-reference.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { type Action, type ActionId, fieldsOf, type Outcome } from "../../core/action/action.ts";
import { bootTime } from "../../core/action/boot-time.ts";
import { concludeOutcome, failedLaunch, nothingToRemove, vanishedOutcome } from "../../core/ports/outcome.ts";
import {
  type Adoption,
  type EarlierRun,
  type EndedAction,
  type FollowRequest,
  type LaunchRequest,
  type Need,
  NotLaunched,
  outputOptions,
  type ReturnedAction,
  type Runtime,
} from "../../core/ports/runtime.ts";
import { findLaunched, type Launched } from "../find-launched.ts";
import { launchName } from "../launch-name.ts";
import { inputTruncated, isOrphan, ownerLabels } from "../orphan.ts";
import {
  type ContainerOptions,
  type ContainerSpec,
  containerSpec,
  isContainerOf,
  LABEL,
  mountProblem,
} from "./container-spec.ts";
import { Engine } from "./engine.ts";
import { type EngineConnectionOptions, negotiateVersion } from "./engine-connection.ts";
import { EngineError } from "./engine-error.ts";
import type { ContainerDetails, ImageDetails } from "./engine-schema.ts";
import { followContainer, hasEnded, pause } from "./follow-container.ts";
import { ImageStore, type ImageStoreOptions } from "./image-store.ts";

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

const UNCERTAIN = "the container engine restarted while it started the action, which may have run";
const VANISHED = "the container was removed by someone else";

/** The state that an attempt to launch leaves for the next one. */
interface Launch {
  /** How long the engine was away during the action's time. */
  awayMs: number;
  spec?: ContainerSpec;
  id?: string;
  /** Whether the start was sent but not answered. */
  mayHaveStarted: boolean;
  isIdempotent?: boolean;
}

interface Claim {
  readonly id: string;
  /** Details of a container that was launched earlier. */
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
    const { log, container, stopGraceMs = 10_000 } = options;
    this.#engine = new Engine(options);
    this.#images = new ImageStore({ ...options, engine: this.#engine });
    this.#log = log;
    this.#container = container;
    this.#stopGraceMs = stopGraceMs;
  }

  async run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    const askedAt = new Date();
    const launch: Launch = { awayMs: 0, mayHaveStarted: false };
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#runOnce(request, launch, signal);
      } catch (thrown) {
        if (thrown instanceof NotLaunched) throw thrown;
        const remainingMs = request.timeoutMs - launch.awayMs;
        if (!isAway(thrown) || remainingMs <= 0 || this.#closing.signal.aborted || signal.aborted) {
          return this.#notRun(thrown, launch, request, askedAt, signal);
        }
        const fields = { ...fieldsOf(request.action, request.connection?.machine), error: textOf(thrown) };
        logOutage(this.#log, attempt === 0, fields, "container engine not responding, retrying");
        request.onProgress?.({ text: "waiting for the container engine" });
        const bound = AbortSignal.any([
          signal,
          this.#closing.signal,
          AbortSignal.timeout(Math.ceil(remainingMs)),
        ]);
        const fromMs = performance.now();
        await pause(attempt, systemClock, bound).catch(() => undefined);
        launch.awayMs += performance.now() - fromMs;
      }
    }
  }

  /**
   * Runs an action. Rejects with an `EngineError` that `isAway` if the engine was away. It may then be called again: before
   * its start a container has done nothing, and afterwards it is found by its name.
   */
  async #runOnce(request: LaunchRequest, launch: Launch, signal: AbortSignal): Promise<EndedAction> {
    const { action, terms, onProgress } = request;
    const image = await this.#images.provide(action.image, signal, { policy: terms?.pull, onProgress });
    if (launch.awayMs > 0) onProgress?.(undefined);
    const problem = mountProblem(action.volumes, image.Config ?? undefined);
    if (problem !== undefined) throw new EngineError("usage", problem);
    launch.isIdempotent = isIdempotent(image);
    launch.spec ??= containerSpec(request, image.Config ?? undefined, this.#container);
    delete launch.id;
    const claim = await this.#claim(action, launch.spec, launch, signal);
    launch.id = claim.id;
    if (!claim.details) return await this.#launch(claim.id, request, launch, signal);
    // The action already runs, so it is adopted even if the launch cannot be recorded.
    await request.onLaunch?.({ container: claim.id }).catch(() => undefined);
    const ended = await this.#adopt(claim.details, request, signal);
    const isTruncated = inputTruncated(request.connection !== undefined, ended.outcome.result);
    if (!launch.mayHaveStarted || !isTruncated) return ended;
    // The engine died while it wrote the connection.
    await this.#discard(claim.id, action);
    launch.mayHaveStarted = false;
    throw new EngineError("unreachable", "the engine restarted during the start", { isAway: true });
  }

  #notRun(
    thrown: unknown,
    { id, spec }: Launch,
    { action }: LaunchRequest,
    askedAt: Date,
    signal: AbortSignal,
  ): EndedAction {
    const outcome = failedLaunch(...failureOf(thrown, signal), askedAt);
    if (this.#closing.signal.aborted) return nothingToRemove(outcome);
    const remove = async (bound: AbortSignal) => {
      if (id !== undefined) await this.#engine.removeContainer(id, bound);
      else if (spec && isUnanswered(thrown)) await this.#removeCreated(action, spec, bound);
    };
    return { outcome, remove };
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
      handle: { container: details.Id },
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

  /** Removes a container unless it has started. It may be starting for a worker that died. */
  async #removeUnlessStarted(id: string, signal: AbortSignal): Promise<"removed" | "started"> {
    if (await this.#engine.removeIdleContainer(id, signal)) return "removed";
    await systemClock.sleep(STARTING_PAUSE_MS, signal);
    return "started";
  }

  async #lost({ action }: ReturnedAction, signal: AbortSignal): Promise<Adoption> {
    const image = await this.#engine.inspectImage(engineImage(action.image), signal).catch(() => undefined);
    const idempotent = isIdempotent(image);
    const reason = "the worker was restarted, and the action's container is gone";
    return { kind: "lost", reason, idempotent };
  }

  /** Checks the engine. Also rejects if the engine is too old. */
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

  async #claim(action: Action, spec: ContainerSpec, launch: Launch, signal: AbortSignal): Promise<Claim> {
    const name = launchName(action);
    for (let attempt = 0; attempt < CREATE_ATTEMPTS; attempt++) {
      // If it may have run, only its own container shows whether it did.
      const id = launch.mayHaveStarted ? undefined : await this.#engine.createContainer(name, spec, signal);
      if (id !== undefined) return { id };
      const details = await this.#engine.inspectContainer(name, signal);
      if (!details && launch.mayHaveStarted)
        throw new EngineError("state", `${VANISHED}, and it may have run`);
      if (!details) continue;
      const labels = details.Config.Labels ?? {};
      if (!isContainerOf(action, labels)) {
        const text = `a container named ${name} exists that was not made for this action: remove it`;
        throw new EngineError("state", text);
      }
      // It never started, so nothing was done, but its stdin may be consumed.
      if (details.State.StartedAt === undefined) {
        // An engine that died during the start may not have recorded it.
        if (launch.mayHaveStarted && !launch.isIdempotent) throw new EngineError("state", UNCERTAIN);

        if (await this.#removeUnlessStarted(details.Id, signal)) launch.mayHaveStarted = false;
      } else if (details.State.Status === "removing") await systemClock.sleep(STARTING_PAUSE_MS, signal);
      else return { id: details.Id, details };
    }
    throw new EngineError("state", `the container name ${name} is still in use`);
  }

  /** Removes a container that was created although the request got no response: it has this deadline and never started. */
  async #removeCreated(action: Action, spec: ContainerSpec, signal: AbortSignal): Promise<void> {
    const details = await this.#engine.inspectContainer(launchName(action), signal);
    const labels = details?.Config.Labels ?? {};
    const isOurs = isContainerOf(action, labels) && labels[LABEL.deadline] === spec.Labels[LABEL.deadline];
    if (details?.State.Status === "created" && isOurs) await this.#engine.removeContainer(details.Id, signal);
  }

  async #launch(
    id: string,
    request: LaunchRequest,
    launch: Launch,
    signal: AbortSignal,
  ): Promise<EndedAction> {
    let attachment: Duplex;
    try {
      await request.onLaunch?.({ container: id });
      attachment = await this.#start(id, request, launch, signal);
    } catch (thrown) {
      // The next attempt finds it by its name, whether it started or not.
      if (!isAway(thrown)) await this.#discard(id, request.action);
      throw thrown;
    }
    const timeoutMs = Math.max(0, request.timeoutMs - launch.awayMs);
    return this.#follow({ id, attachment, timeoutMs, startedAt: new Date() }, request, signal);
  }

  /**
   * Writes the connection before the start: the engine buffers it, and if the worker dies in between, the container
   * has either not run or its complete input.
   */
  async #start(id: string, request: LaunchRequest, launch: Launch, signal: AbortSignal): Promise<Duplex> {
    const attachment = await this.#engine.attach(id, signal);
    try {
      if (request.connection) attachment.end(serialiseConnection(request.connection));
      await this.#engine.startContainer(id, signal);
      return attachment;
    } catch (thrown) {
      attachment.destroy();
      launch.mayHaveStarted = !(thrown instanceof EngineError && thrown.wasNotSent);
      throw thrown;
    }
  }

  async #adopt(details: ContainerDetails, request: FollowRequest, signal: AbortSignal): Promise<EndedAction> {
    const { Id: id, State: state } = details;
    const { Status: status, StartedAt: startedAt, FinishedAt: finishedAt } = state;
    const fields = fieldsOf(request.action, request.connection?.machine);
    this.#log.info({ ...fields, container: id.slice(0, 12), status }, "action adopted");
    const { timeoutMs, clockSetMs = 0 } = request;
    const found = { id, startedAt: startedAt ?? new Date() };
    if (hasEnded(details)) {
      // An earlier worker may have stopped it at its timeout without reporting it.
      const ranMs = startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : 0;
      return this.#follow({ ...found, timeoutMs, overdue: ranMs >= timeoutMs }, request, signal);
    }
    // The engine's clock may be ahead.
    const spentMs = startedAt ? Math.max(0, Date.now() - clockSetMs - startedAt.getTime()) : 0;
    return this.#follow({ ...found, timeoutMs: timeoutMs - spentMs }, request, signal);
  }

  async #follow(
    started: {
      readonly id: string;
      readonly attachment?: Duplex;
      readonly timeoutMs: number;
      readonly startedAt: Date;
      /** Whether the container was found ended after its time had been used up. */
      readonly overdue?: boolean;
    },
    request: FollowRequest,
    signal: AbortSignal,
  ): Promise<EndedAction> {
    const { overdue, startedAt, ...container } = started;
    const [engine, stopGraceMs, detached] = [this.#engine, this.#stopGraceMs, this.#closing.signal];
    const options = { ...container, engine, stopGraceMs, ...outputOptions(request), detached };
    const { written, details, ...followed } = await followContainer(options, signal);
    if (!details) return this.#ended(started.id, vanishedOutcome(VANISHED, { ...written, startedAt }));
    const { State: state } = details;
    const stopReason = overdue ? "timeout" : followed.stopReason;
    const stoppedAt = state.FinishedAt ?? new Date();
    const outcome = concludeOutcome({
      exitCode: state.ExitCode,
      outOfMemory: state.OOMKilled,
      stopReason,
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

function isIdempotent(image: ImageDetails | undefined): boolean {
  return image?.Config?.Labels?.[IDEMPOTENT_LABEL] === "true";
}

function isAway(thrown: unknown): boolean {
  return thrown instanceof EngineError && thrown.isAway;
}

/** Whether the engine may have carried out a request that got no answer. */
function isUnanswered(thrown: unknown): boolean {
  return !(thrown instanceof EngineError) || thrown.status === undefined;
}

function failureOf(thrown: unknown, signal: AbortSignal): readonly [ErrorClass, string] {
  if (thrown instanceof EngineError) return [thrown.class, thrown.message];
  if (signal.aborted) return ["cancelled", "cancelled before it started"];
  return ["internal", textOf(thrown)];
}
