import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { defined } from "../../../shared/defined.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { type HardwareReading, hardwareSeen } from "../../core/action/hardware-seen.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { Machine } from "../../machines/inventory.ts";
import type { MachineReader } from "../machine-reader.ts";
import { Survey } from "../shared/survey.ts";

export interface HardwareStoreOptions {
  readonly reader: Pick<MachineReader, "getHardware">;
  readonly maxAgeMs: number;
  /** Whether an image receives the BMC's password. Only results of such images are used. */
  readonly isTrusted: (image: string) => boolean;
  /** Called after each read by the worker itself, with the error class if it failed. */
  readonly onRead: (errorClass: ErrorClass | undefined) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
  /** The namespace of a machine's object. Its reads leave slots to other namespaces. */
  readonly namespaceOf?: (machine: string) => string | undefined;
}

interface Known {
  readonly lockKey: string;
  readonly askedMs: number;
  readonly reading?: HardwareReading;
}

/** Above this number, the machines that were requested least recently are dropped and must be read again. */
const MOST_MACHINES = 10_000;
/** The number of concurrent reads. */
const MAX_READS = 4;
/** The first reads of a fleet are spread over this time per machine. */
const SPREAD_MS = 500;
const JITTER = 0.1;
const RETRY: Backoff = { firstMs: 60_000, maxMs: 3_600_000, jitter: 0.5 };
/** Time limit for waiting for the machine's lock and reading; the read itself has a shorter one. */
const READ_WITHIN_MS = 7 * 60_000;
/** A machine that was not requested within this time no longer has a lane here. */
const ASKED_WITHIN_MS = 15 * 60_000;

const KNOWN = new Error("the hardware is known");

/**
 * The hardware of requested machines. It is read once, and again when it is too old. A result of the action `inventory` saves a read.
 */
export class HardwareStore {
  readonly #options: HardwareStoreOptions & { readonly random: () => number };
  readonly #survey: Survey;
  /** Machines in order of their latest request, the oldest first. */
  readonly #known = new Map<string, Known>();
  /** Signals for the first reading of a machine. */
  readonly #awaited = new Map<string, AbortController>();
  readonly #listeners = new Set<(machine: string) => void>();

  constructor(options: HardwareStoreOptions) {
    this.#options = { random: Math.random, ...options };
    this.#survey = new Survey({
      visit: (machine, signal) => this.#read(machine, signal),
      onFailure: (machine, error, failures) => this.#failed(machine, error, failures),
      visitWithinMs: READ_WITHIN_MS,
      failsWhenLate: false,
      concurrency: MAX_READS,
      namespaceOf: (machine) => options.namespaceOf?.(machine),
      clock: options.clock,
    });
  }

  readonly observer: Observer = {
    action: (event) => {
      const machine = this.#survey.see(event);
      if (machine === undefined || event.kind !== "ended") return;
      const { hardware, result, stoppedAt } = event.outcome;
      if (hardware && this.#options.isTrusted(event.action.image)) {
        this.#learn(machine, { hardware, provider: result?.provider, readAt: stoppedAt });
      }
    },
  };

  /** The number of machines whose hardware is known. */
  get size(): number {
    return [...this.#known.values()].filter(({ reading }) => reading).length;
  }

  /** The known hardware of a machine. Starts a read in the background if it is unknown or too old. */
  find({ name, lockKey }: Machine): HardwareReading | undefined {
    const before = this.#known.get(name);
    // A new BMC means a new machine.
    const same = before?.lockKey === lockKey ? before : undefined;
    if (!same) this.#survey.reset(name);
    const known = { ...same, lockKey, askedMs: this.#options.clock.monotonicMs() };
    this.#keep(name, known);
    if (!this.#survey.has(name)) {
      this.#survey.visitAfter(name, known.reading ? this.#leftMs(known.reading) : this.#spreadMs());
    }
    return known.reading;
  }

  /** Returns a signal that aborts when the machine's hardware becomes known. */
  awaited(name: string): AbortSignal {
    const waiting = this.#awaited.get(name) ?? new AbortController();
    this.#awaited.set(name, waiting);
    return waiting.signal;
  }

  /** Requests a new read of a machine. */
  refresh(name: string): void {
    if (this.#known.has(name)) this.#survey.visitAfter(name, 0);
  }

  /** Calls the listener when the hardware of a machine was read. */
  onRead(listener: (machine: string) => void): void {
    this.#listeners.add(listener);
  }

  /** Runs until the signal aborts and no read is in flight. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#survey.run(signal);
  }

  async #read(machine: string, signal: AbortSignal): Promise<number | undefined> {
    const { clock, onRead, reader } = this.#options;
    const known = this.#known.get(machine);
    if (!known || clock.monotonicMs() - known.askedMs > ASKED_WITHIN_MS) return undefined;
    const { result, redact } = await reader.getHardware(machine, signal);
    const hardware = result && hardwareSeen(result, redact);
    if (!hardware) throw new BmcError("internal", "inventory returned no hardware");
    onRead(undefined);
    const readAt = new Date(clock.now());
    this.#learn(machine, { hardware, ...defined({ provider: result.provider }), readAt });
    return undefined;
  }

  #failed(machine: string, error: BmcError, failures: number): number | undefined {
    const { log, maxAgeMs, onRead, random } = this.#options;
    onRead(error.class);
    if (!this.#known.has(machine)) return undefined;
    const waitMs = error.class === "unsupported" ? maxAgeMs : backoffMs(RETRY, failures, random);
    const fields = { machine, class: error.class, error: error.message, waitMs };
    logOutage(log, failures === 1, fields, "hardware read failed, retrying");
    return waitMs;
  }

  #learn(machine: string, reading: HardwareReading): void {
    const known = this.#known.get(machine);
    // Only requested machines are kept.
    if (!known) return;
    this.#known.set(machine, { ...known, reading });
    this.#survey.reset(machine);
    this.#options.log.debug({ machine }, "hardware known");
    this.#survey.visitAfter(machine, this.#leftMs(reading));
    this.#awaited.get(machine)?.abort(KNOWN);
    this.#awaited.delete(machine);
    for (const listener of this.#listeners) listener(machine);
  }

  #keep(machine: string, known: Known): void {
    this.#known.delete(machine);
    this.#known.set(machine, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size <= MOST_MACHINES || oldest === undefined) return;
    this.#known.delete(oldest);
    this.#awaited.delete(oldest);
    this.#survey.forget(oldest);
  }

  #leftMs({ readAt }: HardwareReading): number {
    const { clock, maxAgeMs, random } = this.#options;
    const ageMs = Math.max(0, clock.now() - readAt.getTime());
    return Math.max(0, maxAgeMs * (1 - JITTER * random()) - ageMs);
  }

  #spreadMs(): number {
    return SPREAD_MS * this.#known.size * this.#options.random();
  }
}
