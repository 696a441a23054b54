import { defined } from "../../../shared/defined.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Secret } from "../../../shared/secret.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { type ImageReference, parseImageReference } from "../../action/image-reference.ts";
import type { Engine } from "./engine.ts";
import { EngineError } from "./engine-error.ts";
import type { ImageDetails, PullProgress } from "./engine-schema.ts";

/** When to ask the registry: before every launch, if the engine has no such image, or never. */
export type PullPolicy = "always" | "if-missing" | "never";

export interface RegistryCredentials {
  /** `host` or `host:port`, as in image names; `docker.io` for images without a registry. */
  readonly registry: string;
  readonly username: string;
  readonly password: Secret;
}

export interface ImageStoreOptions {
  readonly engine: Engine;
  readonly log: Logger;
  readonly policy?: PullPolicy;
  readonly credentials?: readonly RegistryCredentials[];
  readonly pullTimeoutMs?: number;
}

const DEFAULT_REGISTRY = "docker.io";
const PROGRESS_EVERY_MS = 5_000;

/** Provides images before the launch. */
export class ImageStore {
  readonly #engine: Engine;
  readonly #log: Logger;
  readonly #policy: PullPolicy;
  readonly #credentials: readonly RegistryCredentials[];
  readonly #pullTimeoutMs: number;
  /** Pulls in flight: lanes that need the same image share one. */
  readonly #pulls = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: ImageStoreOptions) {
    this.#engine = options.engine;
    this.#log = options.log;
    this.#policy = options.policy ?? "if-missing";
    this.#credentials = options.credentials ?? [];
    this.#pullTimeoutMs = options.pullTimeoutMs ?? 600_000;
  }

  /**
   * Returns the image, pulled if the policy says so. If a pull fails, a local image is used: a registry outage must
   * not stop the machines.
   */
  async provide(
    image: string,
    signal: AbortSignal,
    policy: PullPolicy = this.#policy,
  ): Promise<ImageDetails> {
    const reference = parseImageReference(image);
    if (!reference) throw new EngineError("usage", `${JSON.stringify(image)} is not an image reference`);
    const present = await this.#engine.inspectImage(image, signal);
    if (present && policy !== "always") return present;
    if (policy === "never") {
      throw new EngineError("usage", `the image ${image} is not there, and the worker pulls none`);
    }
    try {
      await this.#pullOnce(image, reference, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!present) throw pullFailure(image, thrown);
      const error = textOf(thrown);
      this.#log.warn({ image, error }, "image pull failed, using local image");
      return present;
    }
    const pulled = await this.#engine.inspectImage(image, signal);
    if (!pulled) throw new EngineError("internal", `the image ${image} is not there after its pull`);
    return pulled;
  }

  close(): void {
    this.#closing.abort();
  }

  /** Shares a pull in flight. A caller that aborts leaves it to the others. */
  async #pullOnce(image: string, reference: ImageReference, signal: AbortSignal): Promise<void> {
    let pull = this.#pulls.get(image);
    if (!pull) {
      pull = withTimeout(this.#pullTimeoutMs, this.#closing.signal, (bound) =>
        this.#pull(image, reference, bound),
      ).finally(() => this.#pulls.delete(image));
      // All callers may have aborted by the time it fails.
      pull.catch(() => undefined);
      this.#pulls.set(image, pull);
    }
    const joined = pull;
    await withTimeout(this.#pullTimeoutMs, signal, () => joined);
  }

  async #pull(image: string, reference: ImageReference, signal: AbortSignal): Promise<void> {
    const { registry, repository, tag, digest } = reference;
    const startedAt = performance.now();
    this.#log.info({ image }, "pulling image");
    const registryAuth = this.#registryAuth(registry ?? DEFAULT_REGISTRY);
    await this.#engine.pullImage(
      {
        repository: registry === undefined ? repository : `${registry}/${repository}`,
        version: digest ?? tag ?? "latest",
        ...defined({ registryAuth }),
      },
      this.#progressLogger(image),
      signal,
    );
    this.#log.info({ image, durationMs: Math.round(performance.now() - startedAt) }, "image pulled");
  }

  /** Engine API, "Authentication": JSON in base64url. */
  #registryAuth(registry: string): string | undefined {
    const found = this.#credentials.find((credentials) => credentials.registry === registry);
    if (!found) return undefined;
    const login = {
      username: found.username,
      password: found.password.reveal(),
      // The engine knows the address of its default registry; JSON omits what is undefined.
      serveraddress: registry === DEFAULT_REGISTRY ? undefined : registry,
    };
    return Buffer.from(JSON.stringify(login)).toString("base64url");
  }

  /** The engine reports every few kilobytes of every layer; one line per few seconds is enough. */
  #progressLogger(image: string): (progress: PullProgress) => void {
    const layers = new Set<string>();
    const done = new Set<string>();
    let next = performance.now() + PROGRESS_EVERY_MS;
    return ({ id, status }) => {
      if (id !== undefined) layers.add(id);
      if (id !== undefined && /^(pull complete|already exists)$/i.test(status ?? "")) done.add(id);
      if (performance.now() < next) return;
      next = performance.now() + PROGRESS_EVERY_MS;
      this.#log.info({ image, layers: layers.size, layersDone: done.size, status }, "pulling image");
    };
  }
}

function pullFailure(image: string, thrown: unknown): EngineError {
  if (thrown instanceof TimeoutReached) {
    const text = `the image ${image} was not pulled within ${thrown.afterMs} ms`;
    return new EngineError("unreachable", text, { cause: thrown });
  }
  const reason = textOf(thrown);
  const errorClass = thrown instanceof EngineError ? thrown.class : "internal";
  return new EngineError(errorClass, `the image ${image} could not be pulled: ${reason}`, { cause: thrown });
}
