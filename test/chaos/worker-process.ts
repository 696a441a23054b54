import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { CLOCK_OFFSET_VARIABLE, type ProbeOrder } from "./probe-order.ts";

const WORKER = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const PROBE = fileURLToPath(new URL("worker-probe.ts", import.meta.url));
const PROBE_TIMEOUT_MS = 20_000;

const Memory = z.object({ probe: z.literal("memory"), heldBytes: z.number() });

export interface WorkerOptions {
  readonly name: string;
  /** Arguments of `pbnj-worker`. */
  readonly argv: readonly string[];
  readonly logFile: string;
  /** A program with its arguments that replaces itself by the worker, such as `nsenter`. Absent: the worker runs directly. */
  readonly prefix?: readonly string[];
}

/** How a worker's process ended, and whether it was asked to. */
export interface WorkerExit {
  readonly at: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly asked: boolean;
}

/** A standing worker on one state directory, which can be killed and started again any number of times. */
export class WorkerProcess implements AsyncDisposable {
  readonly name: string;
  readonly exits: WorkerExit[] = [];
  readonly #options: WorkerOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  #asked = false;
  #clockOffsetMs = 0;

  constructor(options: WorkerOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.running ? this.#child?.pid : undefined;
  }

  get running(): boolean {
    return this.#child !== undefined && isRunning(this.#child);
  }

  /** Whether its process ended without being asked to. */
  get endedByItself(): boolean {
    return this.#child !== undefined && !this.running && !this.#asked;
  }

  start(): void {
    if (this.running) return;
    const { argv, logFile, prefix = [] } = this.#options;
    const command = [...prefix, process.execPath, "--expose-gc", "--import", PROBE, WORKER, ...argv];
    const [program = process.execPath, ...rest] = command;
    const log = openSync(logFile, "a");
    const child = spawn(program, rest, {
      env: {
        PATH: process.env["PATH"],
        PBNJ_HTTP_ADDRESS: "off",
        [CLOCK_OFFSET_VARIABLE]: String(this.#clockOffsetMs),
      },
      stdio: ["ignore", log, log, "ipc"],
    });
    closeSync(log);
    this.#child = child;
    this.#asked = false;
    const askedOf = () => this.#asked || this.#child !== child;
    // Killed in the middle of a message, the channel breaks off.
    child.on("error", () => undefined);
    this.#exited = once(child, "exit").then(([code, signal]) => {
      this.exits.push({ at: Date.now(), code, signal, asked: askedOf() });
    });
  }

  /** Resolves when it is gone. */
  async kill(): Promise<void> {
    await this.#end(this.#child, this.#exited);
  }

  /**
   * Starts another one on the same directory, which has to end by itself while the first one lives; false if it does not within
   * that time.
   */
  async startSecond(patienceMs: number): Promise<boolean> {
    const first = this.#child;
    await using second = new WorkerProcess({ ...this.#options, logFile: `${this.#options.logFile}.second` });
    second.setClock(this.#clockOffsetMs);
    second.start();
    const limit = new AbortController();
    const late = sleep(patienceMs, "late", { signal: limit.signal }).catch(() => undefined);
    const firstEnds = this.#exited.then(() => "alone");
    const ended = await Promise.race([late, firstEnds, second.#exited.then(() => "ended")]);
    limit.abort();
    const [exit] = second.exits;
    const refused = exit !== undefined && exit.code !== 0 && exit.signal === null;
    return ended === "alone" || !first || !isRunning(first) || (ended === "ended" && refused);
  }

  /** Asks it to end, and kills it when it has not after `patienceMs`; false then. */
  async stop(patienceMs: number): Promise<boolean> {
    // By the time that is over, another one may have been started.
    const [child, exited] = [this.#child, this.#exited];
    if (!child || !isRunning(child)) return true;
    this.#asked = true;
    child.kill("SIGTERM");
    const limit = new AbortController();
    const late = sleep(patienceMs, true, { signal: limit.signal }).catch(() => false);
    const isLate = await Promise.race([late, exited.then(() => false)]);
    limit.abort();
    await this.#end(child, exited);
    return !isLate;
  }

  /** Lets nothing of it run for that time, as a machine that swaps or is moved does. */
  async freeze(forMs: number): Promise<void> {
    const child = this.#child;
    child?.kill("SIGSTOP");
    await sleep(forMs);
    child?.kill("SIGCONT");
  }

  /** Its clock from now on, restarts included. */
  setClock(offsetMs: number): void {
    this.#clockOffsetMs = offsetMs;
    this.#order({ probe: "clock", offsetMs });
  }

  /** Bytes of its JavaScript heap after a garbage collection; undefined if it is not running. */
  async heldBytes(): Promise<number | undefined> {
    const child = this.#child;
    if (!child || !this.running) return undefined;
    const answer = once(child, "message", { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    this.#order({ probe: "memory" });
    const [message] = await answer;
    return Memory.parse(message).heldBytes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #end(child: ChildProcess | undefined, exited: Promise<unknown>): Promise<void> {
    if (child && isRunning(child)) {
      this.#asked = true;
      child.kill("SIGKILL");
    }
    await exited;
  }

  #order(order: ProbeOrder): void {
    if (this.#child?.connected) this.#child.send(order, () => undefined);
  }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}
