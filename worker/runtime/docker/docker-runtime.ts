import type { Duplex } from "node:stream";
import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import { systemClock } from "../../../shared/clock.ts";
import { serialiseConnection } from "../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { defined } from "../../../shared/defined.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Action, ActionId } from "../../action/action.ts";
import { fieldsOf } from "../../action/action-status.ts";
import { bootTime } from "../../action/boot-time.ts";
import { launchName } from "../launch-name.ts";
import { inputBrokeOff, type Need } from "../leftover.ts";
import { concludeOutcome, failedLaunch, nothingLeft } from "../outcome.ts";
import {
  type Adoption,
  type EndedAction,
  LaunchNotRecorded,
  type LaunchRequest,
  type OutputTerms,
  outputTerms,
  type ReturnedAction,
  type Runtime,
} from "../runtime.ts";
import {
  type ContainerOptions,
  type ContainerSpec,
  containerSpec,
  isContainerOf,
  LABEL,
} from "./container-spec.ts";
import { Engine } from "./engine.ts";
import { negotiateVersion } from "./engine-connection.ts";
import { EngineError } from "./engine-error.ts";
import type { ContainerDetails } from "./engine-schema.ts";
import { followContainer } from "./follow-container.ts";
import { ImageStore, type PullPolicy, type RegistryCredentials } from "./image-store.ts";
import { isLeftContainer } from "./leftovers.ts";

/** A name that was taken may be free a moment later; more than a few times in a row is a defect. */
const CREATE_ATTEMPTS = 5;
/** How long a container that is being started or removed is left alone. */
const STARTING_PAUSE_MS = 200;
const CLEAN_UP_MS = 60_000;
/** An engine that does not answer may be starting, as after a reboot, together with this worker. */
const ENGINE_BACKOFF: Backoff = { firstMs: 500, maxMs: 10_000 };

export interface DockerRuntimeOptions {
  readonly log: Logger;
  readonly container: ContainerOptions;
  /** Docker's socket, or Podman's. */
  readonly socketPath?: string;
  readonly pullPolicy?: PullPolicy;
  readonly registries?: readonly RegistryCredentials[];
  readonly pullTimeoutMs?: number;
  /** How long an action may clean up after SIGTERM. */
  readonly stopGraceMs?: number;
  /** For one ordinary answer of the engine. */
  readonly requestTimeoutMs?: number;
}

/** By which an image says that running it a second time leaves the machine as after the first. */
const IDEMPOTENT_LABEL = "pbnj-worker.idempotent";

/** What following a container to its end takes, whoever launched it. */
type Followed = Pick<LaunchRequest, "timeoutMs" | "connection"> &
  OutputTerms &
  Partial<Pick<ReturnedAction, "clockSetMs">> & { readonly action: ActionId };

/** A container of the action at hand: fresh and not yet started, or found from before. */
type Claim =
  | { readonly kind: "created"; readonly id: string }
  | { readonly kind: "adopted"; readonly id: string; readonly details: ContainerDetails };

/**
 * Runs each action in a container of its own, through the engine's API. The container's name comes from the
 * workflow and the action, so the engine itself makes sure that an action is launched once: a worker that
 * comes back finds the name taken, and goes on with what is there.
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
      // It runs already: going on with it is right, whether that can be written down or not.
      await request.onLaunch?.({ container: claim.id }).catch(() => undefined);
      return await this.#adopt(claim, request, signal);
    } catch (thrown) {
      if (thrown instanceof LaunchNotRecorded) throw thrown;
      const [errorClass, reason] = failureOf(thrown, signal);
      const outcome = failedLaunch(errorClass, reason, askedAt, new Date());
      const left = id;
      if (left === undefined || this.#closing.signal.aborted) return nothingLeft(outcome);
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
    if (!inputBrokeOff(left.connected, ended.outcome.result)) return { kind: "ended", ended };
    await this.#discard(claim.id, left.action);
    return { kind: "not-launched" };
  }

  async sweep(keep: (key: string) => Need, signal: AbortSignal): Promise<number> {
    const { state, instance } = this.#container;
    const listed = await this.#engine.listContainers(LABEL.key, signal);
    const sweeper = { state, instance, keep, nowMs: Date.now(), bootTime: bootTime() };
    const leftovers = listed.filter((container) => isLeftContainer(container, sweeper));
    for (const { Id } of leftovers) await this.#discard(Id);
    return leftovers.length;
  }

  /**
   * The container of an action of before, if it was started; undefined when it was and is gone. The launch is on record
   * before the start: without a handle there was none.
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

  /** False when its start, asked for by a worker that died meanwhile, was on its way. */
  async #removeUnlessStarted(id: string, signal: AbortSignal): Promise<boolean> {
    if (await this.#engine.removeIdleContainer(id, signal)) return true;
    await systemClock.sleep(STARTING_PAUSE_MS, signal);
    return false;
  }

  /** The container of an action of before; asks until the engine answers. Rejects when the signal aborts. */
  async #find({ action }: ReturnedAction, signal: AbortSignal): Promise<ContainerDetails | undefined> {
    const bound = AbortSignal.any([signal, this.#closing.signal]);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#engine.inspectContainer(launchName(action), bound);
      } catch (thrown) {
        bound.throwIfAborted();
        const error = textOf(thrown);
        // An outage is said once; what follows is only its repetition.
        const say = attempt === 1 ? this.#log.warn : this.#log.debug;
        say.call(this.#log, { ...fieldsOf(action), error }, "container engine not responding, retrying");
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

  /** Asks the engine anew; one that is too old to be used is none. */
  async check(signal: AbortSignal): Promise<string> {
    const { Version, ApiVersion, MinAPIVersion } = await this.#engine.describe(signal);
    negotiateVersion(ApiVersion, MinAPIVersion);
    return `engine ${Version ?? "of an unknown version"}, API ${ApiVersion}`;
  }

  /** Lets go of containers that still run and leaves them as they are: a worker that comes back adopts them. */
  async close(): Promise<void> {
    this.#closing.abort(
      new EngineError("cancelled", "the worker detached from the action, which keeps running"),
    );
    this.#images.close();
    await this.#engine.close();
  }

  /** Creates the action's container, or finds the one that an earlier run of this worker created. */
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
      // Never started, so nothing was done; its stdin may be used up.
      if (details.State.StartedAt === undefined) await this.#removeUnlessStarted(details.Id, signal);
      else if (details.State.Status === "removing") await systemClock.sleep(STARTING_PAUSE_MS, signal);
      // What ended under an ID that may return belongs to a workflow of before.
      else if (action.idMayReturn && hasEnded(details))
        await this.#engine.removeContainer(details.Id, signal);
      else return { kind: "adopted", id: details.Id, details };
    }
    throw new EngineError("state", `the container name ${name} is still in use`);
  }

  /** A create whose answer was lost may have made the container: it is taken away again. */
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
   * The connection is written before the start: the engine holds it until the program reads, and a worker
   * that dies in between leaves either a container that never ran or one that has its whole input.
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
      // The worker that started it may have stopped it for its time, and died before it said so.
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
      /** It had ended when it was found, no sooner than its time was over. */
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
        ...outputTerms(request),
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

  /** Takes away a container that did not get as far as an outcome of its own. */
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
