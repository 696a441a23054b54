import { type Clock, systemClock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import { bootTime } from "../../core/action/boot-time.ts";
import type {
  Adoption,
  EndedAction,
  HostAccess,
  LaunchRequest,
  Need,
  ReturnedAction,
  Runtime,
} from "../../core/ports/runtime.ts";
import type { Inventory } from "../../machines/inventory.ts";
import type { ActionLibrary } from "../../runtimes/action-library.ts";
import { InProcessRuntime } from "../../runtimes/in-process/in-process-runtime.ts";
import { hostProvider } from "./host-provider.ts";
import { orphanReboots, rebootAnnotation, rebootName } from "./reboot-annotation.ts";

export interface HostRuntimeOptions {
  readonly inventory: Inventory;
  readonly actions: ActionLibrary;
  /** The ID of the worker's state directory, if it has one. */
  readonly state: string | undefined;
  readonly log: Logger;
  readonly stopGraceMs: number;
  readonly clock?: Clock;
}

/** How long an action waits for the removal of its annotation. */
const RELEASE_MS = 8_000;
const RELEASE_PAUSE_MS = 1_000;
const LATER_PAUSE_MS = 10_000;

/**
 * Runs actions on BareMetalHosts inside the worker, so that no container needs rights in the cluster, and all other actions
 * with another runtime. An action inside the worker ends with it; the next worker removes the action's annotation.
 */
export class HostRuntime implements Runtime {
  readonly name: string;
  readonly secretNamespace?: string;
  readonly detach?: () => void;
  readonly #base: Runtime;
  readonly #own: InProcessRuntime;
  readonly #options: HostRuntimeOptions;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #removing = new Set<Promise<unknown>>();

  constructor(base: Runtime, options: HostRuntimeOptions) {
    const { actions, clock = systemClock, log, stopGraceMs } = options;
    this.name = base.name;
    if (base.secretNamespace !== undefined) this.secretNamespace = base.secretNamespace;
    if (base.detach) this.detach = () => base.detach?.();
    this.#base = base;
    this.#options = options;
    this.#clock = clock;
    this.#own = new InProcessRuntime({
      actions,
      refuse: async () => undefined,
      log,
      stopGraceMs: Math.max(stopGraceMs, RELEASE_MS + RELEASE_PAUSE_MS),
    });
  }

  async run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    const { action, host, onLaunch, timeoutMs } = request;
    if (!host) return this.#base.run(request, signal);
    const deadline = new Date(this.#clock.now() + timeoutMs);
    const provider = hostProvider({
      host,
      reboot: rebootAnnotation({ state: this.#options.state, action, deadline }),
      keyMayReturn: action.returningIds !== undefined,
      release: (held, name) => this.#release(held, name),
      clock: this.#clock,
    });
    const launched = { ...request, provider };
    if (!onLaunch) return this.#own.run(launched, signal);
    return this.#own.run({ ...launched, onLaunch: () => onLaunch({ baremetalhost: host.key }) }, signal);
  }

  async adopt(left: ReturnedAction, signal: AbortSignal): Promise<Adoption> {
    const key = left.handle?.["baremetalhost"];
    if (typeof key !== "string") return this.#base.adopt(left, signal);
    const host = this.#hosts().find((one) => one.key === key);
    if (host) await this.#release(host, rebootName(left.action));
    return this.#own.adopt(left);
  }

  async sweep(keep: (key: string) => Need, signal: AbortSignal): Promise<number> {
    let removed = await this.#base.sweep(keep, signal);
    const options = { state: this.#options.state, keep, nowMs: this.#clock.now(), bootTime: bootTime() };
    for (const host of this.#hosts()) {
      for (const name of orphanReboots(host.reboots, options)) {
        await removeFrom(host, name, signal);
        removed += 1;
      }
    }
    return removed;
  }

  check(signal: AbortSignal): Promise<string> {
    return this.#base.check(signal);
  }

  async close(): Promise<void> {
    await this.#own.close();
    this.#closing.abort(new Error("the runtime is closing"));
    await Promise.allSettled(this.#removing);
    await this.#base.close();
  }

  #hosts(): readonly HostAccess[] {
    const { inventory } = this.#options;
    const hosts = inventory.hosts ? inventory.hosts() : [];
    if (!hosts) throw new Error("the BareMetalHosts are not listed yet");
    return hosts;
  }

  /** Removes the annotation, even if the action is cancelled, because the host stays off while it has the annotation. */
  async #release(host: HostAccess, name: string): Promise<void> {
    const first = new AbortController();
    try {
      await withTimeout(RELEASE_MS, first.signal, (bound) =>
        this.#remove(host, name, RELEASE_PAUSE_MS, bound),
      );
    } catch {
      const facts = { host: host.key, annotation: name };
      this.#options.log.error(facts, "reboot annotation not removed, retrying");
      const removed = () => this.#removing.delete(later);
      const later: Promise<unknown> = this.#remove(host, name, LATER_PAUSE_MS, this.#closing.signal).then(
        removed,
        removed,
      );
      this.#removing.add(later);
      throw new BmcError(
        "internal",
        `the annotation ${name} could not be removed: the host stays off until it is`,
      );
    }
  }

  /** Retries until the annotation is removed or the signal aborts. */
  async #remove(host: HostAccess, name: string, pauseMs: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        return await removeFrom(host, name, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        const facts = { host: host.key, annotation: name, error: textOf(thrown) };
        this.#options.log.debug(facts, "reboot annotation not removed, retrying");
        await this.#clock.sleep(pauseMs, signal);
      }
    }
  }
}

async function removeFrom(host: HostAccess, name: string, signal: AbortSignal): Promise<void> {
  await host.patch({ metadata: { annotations: { [name]: null } } }, signal);
}
