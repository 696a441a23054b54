import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import {
  engineImage,
  fullImageName,
  type ImageReference,
  parseImageReference,
} from "../../../shared/contract/image-reference.ts";
import type { Progress } from "../../../shared/contract/progress.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import type { PullPolicy } from "../../core/ports/runtime.ts";
import { suggestedAction } from "../action-library.ts";
import type { Engine } from "./engine.ts";
import { EngineError } from "./engine-error.ts";
import type { ImageDetails, PullProgress } from "./engine-schema.ts";
import { type RegistryLoginOptions, registryAuth } from "./registry-login.ts";

export interface ImageStoreOptions extends RegistryLoginOptions {
  readonly engine: Engine;
  readonly log: Logger;
  readonly pullPolicy?: PullPolicy;
  readonly pullTimeoutMs?: number;
  /** The names of this release's actions, to suggest one for a misspelt image. */
  readonly actionNames?: readonly string[];
}

interface ProvideOptions {
  readonly policy?: PullPolicy | undefined;
  /** Called with the progress of a pull, and with undefined when it has ended. */
  readonly onProgress?: ((progress: Progress | undefined) => void) | undefined;
}

interface Pull {
  readonly done: Promise<void>;
  readonly listeners: Set<(progress: Progress) => void>;
}

const PROGRESS_EVERY_MS = 5_000;
/** The ID of a layer. Other lines have the tag as their ID. */
const LAYER = /^[0-9a-f]{12}$/;

export class ImageStore {
  readonly #options: ImageStoreOptions &
    Required<Pick<ImageStoreOptions, "actionNames" | "pullPolicy" | "pullTimeoutMs">>;
  /** Pulls in flight: lanes that need the same image share one. */
  readonly #pulls = new Map<string, Pull>();
  readonly #closing = new AbortController();

  constructor(options: ImageStoreOptions) {
    this.#options = { actionNames: [], pullPolicy: "if-missing", pullTimeoutMs: 600_000, ...options };
  }

  /**
   * Returns the image, after pulling it if the policy says so. If a pull fails, a local image is used, because a registry
   * outage must not stop the machines.
   */
  async provide(
    image: string,
    signal: AbortSignal,
    { policy = this.#options.pullPolicy, onProgress }: ProvideOptions = {},
  ): Promise<ImageDetails> {
    const { actionNames, engine, log } = this.#options;
    const reference = parseImageReference(image);
    if (!reference) throw new EngineError("usage", `${JSON.stringify(image)} is not an image reference`);
    const named = engineImage(image);
    const present = await engine.inspectImage(named, signal);
    if (present && policy !== "always") return present;
    if (policy === "never") {
      throw new EngineError("usage", `the image ${image} is not present, and the pull policy is never`);
    }
    try {
      await this.#pullOnce(image, reference, onProgress ?? (() => undefined), signal);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!present) throw pullFailure(image, thrown, suggestedAction(reference, actionNames));
      log.warn({ image, error: textOf(thrown) }, "image pull failed, using local image");
      return present;
    } finally {
      onProgress?.(undefined);
    }
    const pulled = await engine.inspectImage(named, signal);
    if (!pulled) throw new EngineError("internal", `the image ${image} is missing after its pull`);
    return pulled;
  }

  close(): void {
    this.#closing.abort();
  }

  /** Shares a pull in flight. A caller that aborts leaves it to the others. */
  async #pullOnce(
    image: string,
    reference: ImageReference,
    onProgress: (progress: Progress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { pullTimeoutMs } = this.#options;
    const { done, listeners } = this.#pulls.get(image) ?? this.#startPull(image, reference);
    onProgress({ text: "pulling image", limitMs: pullTimeoutMs });
    listeners.add(onProgress);
    try {
      await withTimeout(pullTimeoutMs, signal, () => done);
    } finally {
      listeners.delete(onProgress);
    }
  }

  #startPull(image: string, reference: ImageReference): Pull {
    const listeners: Pull["listeners"] = new Set();
    const onProgress = (progress: Progress) => {
      for (const listener of listeners) listener(progress);
    };
    const done = withTimeout(this.#options.pullTimeoutMs, this.#closing.signal, (bound) =>
      this.#pull(image, reference, onProgress, bound),
    ).finally(() => this.#pulls.delete(image));
    // All callers may have aborted before it fails.
    done.catch(() => undefined);
    const pull = { done, listeners };
    this.#pulls.set(image, pull);
    return pull;
  }

  async #pull(
    image: string,
    reference: ImageReference,
    onProgress: (progress: Progress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { engine, log } = this.#options;
    const { tag, digest } = reference;
    const startedAt = performance.now();
    log.info({ image }, "pulling image");
    const login = await registryAuth(reference, this.#options, signal);
    await engine.pullImage(
      {
        repository: fullImageName(reference),
        version: digest ?? tag ?? "latest",
        registryAuth: login,
      },
      this.#layerCounter(image, onProgress),
      signal,
    );
    log.info({ image, durationMs: Math.round(performance.now() - startedAt) }, "image pulled");
  }

  /** Counts layers. The engine reports every few kilobytes of each, but one log line every few seconds is enough. */
  #layerCounter(image: string, onProgress: (progress: Progress) => void): (progress: PullProgress) => void {
    const layers = new Set<string>();
    const done = new Set<string>();
    let next = performance.now() + PROGRESS_EVERY_MS;
    let latest = "";
    return ({ id, status }) => {
      if (id !== undefined && LAYER.test(id)) layers.add(id);
      if (id !== undefined && /^(pull complete|already exists)$/i.test(status ?? "")) done.add(id);
      const text = `pulling image, ${done.size} of ${layers.size} layers`;
      if (layers.size > 0 && text !== latest) onProgress({ text });
      latest = text;
      if (performance.now() < next) return;
      next = performance.now() + PROGRESS_EVERY_MS;
      this.#options.log.info({ image, layers: layers.size, layersDone: done.size, status }, "pulling image");
    };
  }
}

/** Many registries deny access to a repository that does not exist. */
const MAY_BE_ABSENT: ReadonlySet<ErrorClass> = new Set(["usage", "auth"]);

function pullFailure(image: string, thrown: unknown, meant: string): EngineError {
  if (thrown instanceof TimeoutReached) {
    const text = `the image ${image} was not pulled within ${thrown.afterMs} ms`;
    return new EngineError("unreachable", text, { cause: thrown });
  }
  if (thrown instanceof EngineError && thrown.isAway) return thrown;
  const errorClass = thrown instanceof EngineError ? thrown.class : "internal";
  const advice = MAY_BE_ABSENT.has(errorClass) ? meant : "";
  const text = `the image ${image} could not be pulled: ${textOf(thrown)}${advice}`;
  return new EngineError(errorClass, text, { cause: thrown });
}
