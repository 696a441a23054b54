import { type Backoff, backoffMs } from "../../backoff.ts";
import type { Clock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import { defined } from "../../defined.ts";
import { formatSeconds } from "../../duration.ts";
import {
  BOOT_STAGES,
  type BootOverride,
  type BootProgress,
  type BootSight,
  type BootTarget,
  describeOverride,
} from "./boot-port.ts";

/** The result of waiting for a boot. */
export interface BootWaitReport {
  /** The first progress that the BMC reported; absent if it reports none. */
  readonly before?: string;
  /** The last progress that the BMC reported; absent if it reports none. */
  readonly after?: string;
  /**
   * What showed that the boot got there: the reported progress, the POST code, or the one-time boot override, which was used
   * up.
   */
  readonly shownBy: "progress" | "post-code" | "override";
  /** The result in one line for display. */
  readonly summary: string;
}

export interface BootWaitPort {
  readonly clock: Clock;
  /** Polls once. Resolves to the error of a BMC that may be restarting. */
  see(): Promise<BootSight | BmcError>;
  /** Whether one-time overrides stay in force, so that the end of an override shows nothing. */
  keepsOverrides(): Promise<boolean>;
  sleep(ms: number): Promise<void>;
  progress(text: string, limitMs?: number): void;
}

/** Firmware takes minutes, but a stage may last only seconds. */
const POLL: Backoff = { firstMs: 1_000, maxMs: 5_000, factor: 1.5 };
/**
 * A BMC may show the previous boot for a moment after power on, so the state of the first poll counts only if it lasts this
 * long.
 */
const HELD_MS = 10_000;

/** Waits until the machine's boot has reached the stage or POST code. Sends nothing. */
export async function waitForBoot(
  port: BootWaitPort,
  target: BootTarget,
  timeoutMs: number,
): Promise<BootWaitReport> {
  const startedMs = port.clock.monotonicMs();
  const endMs = startedMs + timeoutMs;
  const keepsOverrides = await port.keepsOverrides();
  const watch = new BootWatch(target, keepsOverrides);
  const { awaited } = watch;
  let told: string | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const sight = await port.see();
    const nowMs = port.clock.monotonicMs();
    if (!(sight instanceof BmcError)) {
      const shownBy = watch.shownBy(sight, nowMs);
      if (shownBy) {
        const took = formatSeconds(nowMs - startedMs);
        const summary = `${watch.describe(shownBy, sight)} after ${took}`;
        return { ...defined({ before: watch.first, after: sight.progress?.state }), shownBy, summary };
      }
      watch.check(sight);
    }
    const leftMs = endMs - nowMs;
    if (leftMs <= 0) {
      if (sight instanceof BmcError) throw sight;
      const waited = formatSeconds(timeoutMs);
      throw new BmcError("timeout", `not ${awaited} after ${waited}: ${watch.last(sight)}`);
    }
    const text = `waiting for ${awaited}${watch.now}`;
    if (text !== told) port.progress(text, leftMs);
    told = text;
    await port.sleep(Math.min(leftMs, backoffMs(POLL, attempt)));
  }
}

/** Follows one boot. */
class BootWatch {
  /** The state of the first poll. */
  first: string | undefined;
  /** The boot of the first poll. */
  #firstBoot: string | undefined;
  readonly #target: BootTarget;
  readonly #keepsOverrides: boolean;
  #looks = 0;
  #reportsProgress = false;
  /** Whether a stage before the target was seen, so that the target belongs to this boot. */
  #wasBefore = false;
  /** The time since which the BMC has shown the stage without interruption. */
  #reachedMs: number | undefined;
  #override: BootOverride | undefined;
  #state: string | undefined;

  constructor(target: BootTarget, keepsOverrides: boolean) {
    this.#target = target;
    this.#keepsOverrides = keepsOverrides;
  }

  /** The awaited state, for display. */
  get awaited(): string {
    return "stage" in this.#target ? this.#target.stage : `POST code ${this.#target.postCode}`;
  }

  /** The current state for progress messages, with its own comma. */
  get now(): string {
    return this.#state === undefined ? "" : `, now ${this.#state}`;
  }

  shownBy(sight: BootSight, nowMs: number): BootWaitReport["shownBy"] | undefined {
    const { power, override, progress } = sight;
    this.#looks += 1;
    if (progress) this.#reportsProgress = true;
    if (this.#looks === 1) this.first = progress?.state;
    this.#firstBoot ??= progress?.boot;
    this.#state = progress?.state;
    const isEnough = this.#isEnough(progress);
    const isReached = power === "on" && isEnough;
    if (progress && (!isEnough || progress.boot !== this.#firstBoot)) this.#wasBefore = true;
    this.#reachedMs = isReached ? (this.#reachedMs ?? nowMs) : undefined;
    if (isReached && (this.#wasBefore || this.#hasHeld(progress, nowMs))) {
      return "stage" in this.#target ? "progress" : "post-code";
    }
    const isUsed = power === "on" && override?.device === "none" && this.#override !== undefined;
    if (isUsed && "stage" in this.#target && this.#target.stage !== "os-running") return "override";
    if (isOneTime(override) && !this.#keepsOverrides) this.#override = override;
    return undefined;
  }

  /** Throws if nothing can ever show the stage. A BMC that has reported progress may stop reporting for a moment. */
  check({ override }: BootSight): void {
    if (this.#reportsProgress) return;
    if ("stage" in this.#target && this.#target.stage === "os-running") {
      throw new BmcError("unsupported", "the BMC reports no boot progress: it cannot show os-running");
    }
    if (this.#override) return;
    const why = this.#keepsOverrides
      ? "keeps one-time boot overrides"
      : `has no one-time boot override set${override ? ` (${describeOverride(override)})` : ""}`;
    throw new BmcError(
      "unsupported",
      `the BMC reports no boot progress and ${why}: nothing would show a boot`,
    );
  }

  describe(shownBy: BootWaitReport["shownBy"], { progress }: BootSight): string {
    if (shownBy === "progress") return progress?.state ?? this.awaited;
    if (shownBy === "post-code") return this.awaited;
    return `boot override ${describeOverride(this.#override ?? { device: "unknown" })} used`;
  }

  last({ power, override, progress }: BootSight): string {
    const parts = [
      ...(progress ? [`the last stage was ${progress.state}`] : ["the BMC reports no boot progress"]),
      ...(this.#reachedMs === undefined ? [] : ["which may be of an earlier boot"]),
      ...(override && override.device !== "none"
        ? [`the boot override ${describeOverride(override)} is still set`]
        : []),
      ...(power === "on" ? [] : [`the machine is ${power === "off" ? "off" : "neither on nor off"}`]),
    ];
    return parts.join(", ");
  }

  #isEnough({ stage, postCodes }: Partial<BootProgress> = {}): boolean {
    if ("postCode" in this.#target) return postCodes?.includes(this.#target.postCode) ?? false;
    return stage !== undefined && BOOT_STAGES.indexOf(stage) >= BOOT_STAGES.indexOf(this.#target.stage);
  }

  #hasHeld(progress: BootProgress | undefined, nowMs: number): boolean {
    return progress?.isOfThisBoot === true && nowMs - (this.#reachedMs ?? nowMs) >= HELD_MS;
  }
}

function isOneTime(override: BootOverride | undefined): override is BootOverride {
  return override?.persistent === false && !["none", "unknown"].includes(override.device);
}
