import { type Backoff, backoffMs } from "../../backoff.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import type { PowerState } from "../../contract/vocabulary.ts";
import { defined } from "../../defined.ts";
import { formatSeconds } from "../../duration.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { ok, warning } from "./finding.ts";
import { BackgroundWork } from "./follow-task.ts";
import { ChangeFailed, EndUnknown } from "./read-back.ts";
import type { Proof } from "./write-proof.ts";

/** A power command, which each provider sends in the way that suits it best. */
export type PowerCommand = "on" | "off" | "soft-off" | "cycle" | "reset";

/**
 * Power through one provider. A call is one attempt: it does not retry a write, verify the result or wait for the machine. The
 * operation does that in the same way for all providers. Errors are `BmcError`s.
 */
export interface PowerDriver {
  read(signal: AbortSignal): Promise<PowerState>;
  /** The BMC's own word for the last state that was read; undefined if it has none. */
  stateName?(): string | undefined;
  /** The mark of the machine's last reset in the last reading; undefined if the BMC reports none. */
  resetMark?(): ResetMark | undefined;
  /**
   * Describes what `send` would send, in one line for people. Changes nothing. Throws `unsupported` if the BMC is known not to
   * offer the command.
   */
  plan(command: PowerCommand, signal: AbortSignal): Promise<string>;
  /**
   * Sends a command. Resolves when the BMC has accepted it, which does not mean that the machine has executed it.
   * `softTimeoutMs` is how long the operation waits for a `soft-off`.
   */
  send(command: PowerCommand, signal: AbortSignal, softTimeoutMs?: number): Promise<void>;
}

/** Facts about a machine that change with every reset. */
export interface ResetMark {
  /** The time of the last reset, in the BMC's format. */
  readonly resetTime?: string;
  /** The number of boots. */
  readonly boots?: number;
  /** Whether the operating system is running, which only a reset ends. */
  readonly running?: boolean;
}

/**
 * How to power off. `hard`: at once. `soft`: by the operating system. `soft-then-hard`: at once if the operating system does
 * not shut down in time.
 */
export type OffMode = "hard" | "soft" | "soft-then-hard";

/** A request to change a machine's power. */
export type PowerRequest =
  | {
      /** Powers the machine on. */
      readonly verb: "on";
      /** Time limit for each wait for a state. */
      readonly timeoutMs: number;
    }
  | {
      /** Powers the machine off. */
      readonly verb: "off";
      /** At once or gracefully. */
      readonly mode: OffMode;
      /** Time limit for a graceful shutdown. */
      readonly softTimeoutMs: number;
      /** Time limit for each wait for a state. */
      readonly timeoutMs: number;
    }
  | {
      /** Powers the machine off and on. */
      readonly verb: "cycle";
      /** How long the machine stays off; 0 uses the BMC's own power cycle, if it has one. */
      readonly offDurationMs: number;
      /** Time limit for each wait for a state. */
      readonly timeoutMs: number;
    }
  | {
      /** Resets the machine without powering it off. */
      readonly verb: "reset";
      /** Powers on a machine that is off; otherwise that is an error of class `state`. */
      readonly onIfOff: boolean;
      /** Time limit for each wait for a state. */
      readonly timeoutMs: number;
    };

/** A machine's power as the BMC reports it. */
export interface PowerReading {
  /** On, off, or neither. */
  readonly state: PowerState;
  /** The BMC's own word, such as `Paused`; absent if it has none. */
  readonly name?: string;
}

/** Result of a power operation. */
export interface PowerReport {
  /** The state before the operation. */
  readonly before: PowerState;
  /** The state after the operation. */
  readonly after: PowerState;
  /** Whether a command was sent. */
  readonly changed: boolean;
  /** How it went, for people: `already on`, `off after 6.2 s (graceful)`. */
  readonly summary: string;
}

type PowerDrivers = { readonly power: PowerDriver };

export const powerOperations = defineOperations({
  title: "power",
  methods: (run: Run<PowerDrivers>) => ({
    /** Reads whether the machine is on, off or in an unknown state. */
    getPower: (signal: AbortSignal = neverAborted()): Promise<PowerState> =>
      run(signal, ({ read }) => read(({ power }) => power.read(signal))),

    /** Like `getPower`, with the BMC's own word for the state. */
    describePower: (signal: AbortSignal = neverAborted()): Promise<PowerReading> =>
      run(signal, async (access) => {
        const port = portOf(access, signal);
        const state = await port.read();
        return { state, ...defined({ name: port.stateName() }) };
      }),

    /** Powers the machine on, off or through a cycle or reset, and waits until the state holds; off is read twice. */
    setPower: (request: PowerRequest, signal: AbortSignal = neverAborted()): Promise<PowerReport> =>
      run(signal, (access) => setPower(portOf(access, signal), request)),

    /** What `setPower` would send. With a state to assume, the present one is not read. */
    planPower: (
      request: PowerRequest,
      signal: AbortSignal = neverAborted(),
      assumed?: PowerState,
    ): Promise<Plan<PowerState>> =>
      run(signal, (access) => {
        const port = portOf(access, signal);
        return planPower(assumed === undefined ? port : assuming(port, assumed), request);
      }),

    /** Waits until something else has powered the machine on or off; sends nothing. */
    waitForPower: (
      target: "on" | "off",
      timeoutMs: number,
      signal: AbortSignal = neverAborted(),
    ): Promise<PowerReport> =>
      run(signal, (access) => waitForPower(portOf(access, signal), target, timeoutMs)),
  }),
  check: async ({ read }, signal) => {
    const state = await read(({ power }) => power.read(signal));
    return state === "unknown" ? warning("state", "neither on nor off") : ok(state);
  },
});

/** The power of one machine with retries in place; what `setPower` needs and no more. */
type PowerPort = Omit<ReturnType<typeof portOf>, "work" | "resetMark" | "disprove"> &
  Working &
  Partial<Pick<ReturnType<typeof portOf>, "resetMark" | "disprove">>;

interface Working {
  readonly work?: Pick<BackgroundWork<PowerDrivers>, "failure" | "words" | "ended">;
}

function portOf(access: Access<PowerDrivers>, signal: AbortSignal) {
  const { clock, log, read, look, hasChanged, disprove, sleep, progress } = access;
  const work = new BackgroundWork(access, signal);
  let stateName: string | undefined;
  let resetMark: ResetMark | undefined;
  const readState = async ({ power }: PowerDrivers) => {
    const state = await power.read(signal);
    stateName = power.stateName?.();
    resetMark = power.resetMark?.();
    return state;
  };
  return {
    clock,
    read: () => read(readState),
    look: () => look(readState),
    /** The BMC's own word for the state that was read last. */
    stateName: () => stateName,
    /** The mark of the machine's last reset in the state that was read last. */
    resetMark: () => resetMark,
    hasChanged,
    disprove,
    plan: (name: PowerCommand) => read(({ power }) => power.plan(name, signal)),
    /** Sends a command; only a graceful shutdown is sent again while the BMC is busy. */
    send: (name: PowerCommand, softTimeoutMs = 0) =>
      work.start(
        async ({ power, provider }) => {
          await power.send(name, signal, softTimeoutMs || undefined);
          log.debug({ command: name, provider }, "power command sent");
        },
        { limitMs: softTimeoutMs, isDone: async () => (await read(readState)) === TARGETS[name] },
      ),
    /** The background task that the last command started. */
    work,
    sleep,
    progress,
  };
}

/** The states that commands lead to. */
const TARGETS: Readonly<Partial<Record<PowerCommand, PowerState>>> = {
  on: "on",
  off: "off",
  "soft-off": "off",
};

type WatchPort = Pick<PowerPort, "clock" | "look" | "stateName" | "sleep" | "progress" | "work">;

/** The pauses between reads of the state. Some machines need 46 s to power on. */
const POLL: Backoff = { firstMs: 500, maxMs: 5_000, factor: 1.5 };
/** How long to wait for an intermediate state to become definite before a command is sent anyway. */
const SETTLE_MS = 30_000;
/** The pauses between attempts of a command that a busy BMC refuses. */
const REPEAT: Backoff = { firstMs: 1_000, maxMs: 10_000 };
/** After a lost answer, an idempotent command is repeated once if the state has not changed for this long. */
const RESEND_AFTER_MS = 10_000;
/** How long to watch the state before a refusal is an error, because the machine may already be changing its state. */
const REFUSAL_WATCH_MS = 3_000;
/** How long to watch for the off phase of a cycle that the BMC accepted. The phase may be too short to be observed. */
const CYCLE_WATCH_MS = 10_000;
/** How long the machine stays off in a cycle that consists of two commands, off and on. */
const COMPOSED_OFF_MS = 5_000;

const NOTHING_TO_RESET = "the machine is off: there is nothing to reset";

/** Changes the power and verifies the result. Sends nothing if the machine is already in the wanted state. */
export async function setPower(port: PowerPort, request: PowerRequest): Promise<PowerReport> {
  const startedMs = port.clock.monotonicMs();
  const took = () => formatSeconds(port.clock.monotonicMs() - startedMs);
  const before = await settle(port, request.timeoutMs);
  switch (request.verb) {
    case "on": {
      if (before === "on") return { before, after: "on", changed: false, summary: "already on" };
      await command(port, "on", "on", request.timeoutMs);
      return { before, after: "on", changed: true, summary: `on after ${took()}` };
    }
    case "off": {
      if (before === "off" && (await port.read()) === "off") {
        return { before, after: "off", changed: false, summary: "already off" };
      }
      const how = await powerOff(port, request);
      return { before, after: "off", changed: true, summary: `off after ${took()} (${how})` };
    }
    case "cycle": {
      if (before === "off") {
        await command(port, "on", "on", request.timeoutMs);
        return { before, after: "on", changed: true, summary: `on after ${took()} (was off, so powered on)` };
      }
      const how = await cycle(port, request, before);
      return { before, after: "on", changed: true, summary: `cycled in ${took()} (${how})` };
    }
    case "reset": {
      if (before === "off") {
        if (!request.onIfOff) throw new BmcError("state", NOTHING_TO_RESET);
        await command(port, "on", "on", request.timeoutMs);
        return { before, after: "on", changed: true, summary: `on after ${took()} (was off, so powered on)` };
      }
      const endsMs = port.clock.monotonicMs() + request.timeoutMs;
      const { mark } = await sendCommand(port, "reset", before, endsMs);
      await ended(port, "reset", { from: before, before: mark }, { endsMs, limitMs: request.timeoutMs });
      const leftMs = Math.max(0, endsMs - port.clock.monotonicMs());
      await reach(port, "on", leftMs, "the reset was accepted", request.timeoutMs);
      return { before, after: "on", changed: true, summary: `reset, on after ${took()}` };
    }
    default:
      return request satisfies never;
  }
}

/** Waits until something else has powered the machine on or off. Sends nothing. */
export async function waitForPower(
  port: WatchPort & Pick<PowerPort, "read">,
  target: "on" | "off",
  timeoutMs: number,
): Promise<PowerReport> {
  const startedMs = port.clock.monotonicMs();
  const before = await port.read();
  const seen = new Set<PowerState>([before]);
  const look = async () => {
    const state = await port.look();
    if (typeof state === "string") seen.add(state);
    return state;
  };
  const { held, last } = await reached({ ...port, look }, target, timeoutMs);
  if (!held) {
    if (last instanceof BmcError) throw last;
    const message = `not ${target} after ${formatSeconds(timeoutMs)}, it was ${before} at first`;
    throw new BmcError("timeout", `${message}${unknownState(port, last)}`);
  }
  const took = formatSeconds(port.clock.monotonicMs() - startedMs);
  // A machine that went off, on and off again was not "already off".
  const summary = seen.size === 1 ? `already ${target}` : `${target} after ${took}`;
  return { before, after: target, changed: false, summary };
}

/** A port for a plan, which assumes a state that an earlier step of the plan leads to. */
function assuming(port: PowerPort, state: PowerState): PowerPort {
  return {
    ...port,
    read: async () => state,
    look: async () => state,
    plan: async (name) => {
      try {
        return await port.plan(name);
      } catch (thrown) {
        // An error about the present state does not apply to the assumed one.
        if (BmcError.from(thrown).class === "state") return name;
        throw thrown;
      }
    },
  };
}

async function planPower(port: PowerPort, request: PowerRequest): Promise<Plan<PowerState>> {
  const before = await port.read();
  const steps: string[] = [];
  const add = async (name: PowerCommand) => steps.push(await port.plan(name));
  switch (request.verb) {
    case "on":
      if (before !== "on") await add("on");
      break;
    case "off":
      if (before === "off") break;
      if (request.mode === "hard") await add("off");
      else if (request.mode === "soft") await add("soft-off");
      else {
        const graceful = await offered(port, "soft-off");
        if (graceful) steps.push(graceful);
        const forced = await port.plan("off");
        const waited = formatSeconds(request.softTimeoutMs);
        steps.push(graceful ? `if still on after ${waited}: ${forced}` : forced);
      }
      break;
    case "cycle": {
      if (before === "off") {
        await add("on");
        break;
      }
      const own = request.offDurationMs === 0 ? await offered(port, "cycle") : undefined;
      if (own) steps.push(own);
      else {
        await add("off");
        steps.push(`wait ${formatSeconds(request.offDurationMs || COMPOSED_OFF_MS)}`);
        await add("on");
      }
      break;
    }
    case "reset":
      if (before !== "off") await add("reset");
      else if (request.onIfOff) await add("on");
      else throw new BmcError("state", NOTHING_TO_RESET);
      break;
    default:
      return request satisfies never;
  }
  return { before, steps };
}

async function powerOff(port: PowerPort, request: Extract<PowerRequest, { verb: "off" }>): Promise<string> {
  if (request.mode === "hard") {
    await command(port, "off", "off", request.timeoutMs);
    return "forced";
  }
  let { refusal, doubt } = await tryGraceful(port, request.mode, request.softTimeoutMs);
  if (refusal === undefined) {
    const endsMs = port.clock.monotonicMs() + request.softTimeoutMs;
    const watched = await reached(port, "off", request.softTimeoutMs, "shutdown requested");
    const { held, last, failure } = watched;
    if (held) return "graceful";
    refusal = failure?.message;
    // Wait nevertheless: BMCs may report a failure although the operating system shuts down.
    const leftMs = endsMs - port.clock.monotonicMs();
    if (failure && leftMs > 0 && (await reached(withoutWork(port), "off", leftMs)).held) return "graceful";
    if (request.mode === "soft") {
      if (failure) throw failure;
      const waited = formatSeconds(request.softTimeoutMs);
      if (last === "on")
        throw new BmcError("timeout", `still on ${waited} after the graceful shutdown request${doubt}`);
      throw notReached(port, `not off ${waited} after the graceful shutdown request${doubt}`, last);
    }
  }
  await command(port, "off", "off", request.timeoutMs);
  return refusal === undefined
    ? `forced, still on ${formatSeconds(request.softTimeoutMs)} after the graceful shutdown request`
    : `forced, graceful shutdown not possible: ${refusal}`;
}

/** The result of a graceful shutdown: the `refusal` if it was refused, and the `doubt` if it may have been accepted. */
interface Graceful {
  readonly refusal: string | undefined;
  readonly doubt: string;
}

async function tryGraceful(port: PowerPort, mode: OffMode, softTimeoutMs: number): Promise<Graceful> {
  try {
    await port.send("soft-off", softTimeoutMs);
    return { refusal: undefined, doubt: "" };
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (error.uncertain) return { refusal: undefined, doubt: ` (${error.message})` };
    const refused = ["unsupported", "bmc", "state", "busy"].includes(error.class);
    if (!refused) throw error;
    if ((await port.read()) === "off") return { refusal: undefined, doubt: "" };
    if (mode === "soft") throw error;
    return { refusal: error.message, doubt: "" };
  }
}

async function cycle(
  port: PowerPort,
  request: Extract<PowerRequest, { verb: "cycle" }>,
  from: PowerState,
): Promise<string> {
  const endsMs = port.clock.monotonicMs() + request.timeoutMs;
  const own = request.offDurationMs === 0 ? await offered(port, "cycle") : undefined;
  const cycled = own === undefined ? undefined : await sendCycle(port, from, endsMs);
  if (!cycled) {
    const offMs = request.offDurationMs || COMPOSED_OFF_MS;
    // Do not power off a machine that cannot be powered on again.
    await port.plan("on");
    await powerOffForCycle(port, request.timeoutMs);
    port.progress("off, waiting before power on", offMs);
    await port.sleep(offMs);
    await command(port, "on", "on", request.timeoutMs);
    return `off for ${formatSeconds(offMs)}, then on`;
  }
  const { isSeen, mark } = cycled;
  const watchMs = Math.min(CYCLE_WATCH_MS, request.timeoutMs);
  const { held, failure } = isSeen
    ? { held: true, failure: undefined }
    : // Only off counts, not another state such as paused.
      await watch(port, (state) => state === "off", watchMs, "waiting for power off");
  if (failure) throw failure;
  const leftMs = () => Math.max(0, endsMs - port.clock.monotonicMs());
  // If the off phase was too short to be observed, only the task shows that the cycle ran.
  if (!held) await ended(port, "cycle", { from, before: mark }, { endsMs, limitMs: request.timeoutMs });
  await reach(port, "on", leftMs(), "the cycle was accepted", request.timeoutMs);
  return held ? "off, then on" : "confirmed by the BMC, too fast to observe off";
}

/** Powers the machine off for a cycle. Continues if the state cannot be read, so that the machine does not stay off. */
async function powerOffForCycle(port: PowerPort, timeoutMs: number): Promise<void> {
  try {
    await command(port, "off", "off", timeoutMs);
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (error.class !== "timeout" || !port.hasChanged() || (await port.look()) === "on") throw error;
    const isOn = await command(port, "on", "on", timeoutMs).then(
      () => "powered on again",
      (failed: unknown) => `power on was sent: ${BmcError.from(failed).message}`,
    );
    const message = `${error.message}; whether the machine was off is not known, ${isOn}`;
    throw new BmcError("verify", message, { cause: error, uncertain: true });
  }
}

/** Sends a cycle. Resolves to undefined if the BMC offers none, which some BMCs report only when it is sent. */
async function sendCycle(
  port: PowerPort,
  from: PowerState,
  endsMs: number,
): Promise<SentCommand | undefined> {
  try {
    return await sendCommand(port, "cycle", from, endsMs);
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (error.class === "unsupported" && !error.uncertain) return undefined;
    throw thrown;
  }
}

/** The state before a command, and whether later readings have shown that the command was executed. */
interface SentCommand {
  readonly mark: ResetMark | undefined;
  readonly isSeen: boolean;
}

/**
 * Sends a command that is not idempotent. After a refusal or a lost answer, the machine's state shows whether it was executed.
 * The command is sent again, or in another way, only if the state proves that it was not.
 */
async function sendCommand(
  port: PowerPort,
  name: "reset" | "cycle",
  from: PowerState,
  endsMs: number,
): Promise<SentCommand> {
  for (let attempt = 1; ; attempt += 1) {
    const before = port.resetMark?.();
    try {
      await port.send(name);
      return { mark: before, isSeen: false };
    } catch (thrown) {
      const error = BmcError.from(thrown);
      const isLocal = ["cancelled", "internal", "tls", "usage"].includes(error.class);
      if (isLocal || error instanceof ChangeFailed || (error.class === "auth" && !error.uncertain))
        throw error;
      const isOffered = error.class !== "unsupported" || (await offered(port, name)) !== undefined;
      if (!isOffered && !error.uncertain) throw error;
      const { proof, state } = await deedOf(
        port,
        { from, before },
        error.uncertain ? CYCLE_WATCH_MS : REFUSAL_WATCH_MS,
      );
      if (name === "reset" && state === "off" && !error.uncertain) {
        throw new BmcError("state", NOTHING_TO_RESET, { cause: error });
      }
      if (proof === "done") return { mark: before, isSeen: true };
      if (error.uncertain && proof === "unknown") throw mayHaveBeen(name, error);
      if (error.uncertain) port.disprove?.();
      const leftMs = endsMs - port.clock.monotonicMs();
      if (error.class !== "busy" || leftMs <= 0) {
        throw error.uncertain ? new BmcError(error.class, error.message, { cause: error }) : error;
      }
      const pauseMs = Math.max(backoffMs(REPEAT, attempt), error.retryAfterMs ?? 0);
      await port.sleep(Math.min(leftMs, pauseMs));
    }
  }
}

/** Waits for the end of a command's background task. If the end is unknown, only the machine's state can prove success. */
async function ended(
  port: PowerPort,
  name: "reset" | "cycle",
  machine: { readonly from: PowerState; readonly before: ResetMark | undefined },
  { endsMs, limitMs }: { readonly endsMs: number; readonly limitMs: number },
): Promise<void> {
  const leftMs = () => Math.max(0, endsMs - port.clock.monotonicMs());
  try {
    await port.work?.ended(name, limitMs, endsMs);
  } catch (thrown) {
    if (!(thrown instanceof EndUnknown)) throw thrown;
    const { proof } = await deedOf(port, machine, Math.min(CYCLE_WATCH_MS, leftMs()));
    if (proof !== "done") throw thrown;
  }
}

function mayHaveBeen(name: string, error: BmcError): BmcError {
  const message = `${error.message}; the ${name} may have been carried out and is not sent again`;
  return new BmcError(error.class, message, { cause: error, uncertain: true });
}

/** Whether a reset or a cycle was executed, by the power state, the time of the last reset, the boot count and the boot progress. */
async function deedOf(
  port: PowerPort,
  { from, before }: { readonly from: PowerState; readonly before: ResetMark | undefined },
  limitMs: number,
): Promise<{ readonly proof: Proof; readonly state: PowerState | undefined }> {
  const mark = () => port.resetMark?.();
  // Leaving the state on is enough for a machine that was on.
  const left = (state: PowerState) => state === "off" || (from === "on" && state !== "on");
  const done = (state: PowerState) => left(state) || isAnotherReset(before, mark());
  const { held, last } = await watch(withoutWork(port), done, limitMs, "looking whether it was carried out");
  const state = typeof last === "string" ? last : undefined;
  if (held) return { proof: "done", state };
  const isSame = before?.resetTime !== undefined && before.resetTime === mark()?.resetTime;
  return { proof: state !== undefined && isSame ? "not done" : "unknown", state };
}

/** Whether two marks prove a reset between them. Only facts that both contain can prove it. */
function isAnotherReset(before: ResetMark | undefined, after: ResetMark | undefined): boolean {
  if (!before || !after) return false;
  const isOther = <Value>(one: Value | undefined, other: Value | undefined) =>
    one !== undefined && other !== undefined && one !== other;
  return (
    isOther(before.resetTime, after.resetTime) ||
    isOther(before.boots, after.boots) ||
    (before.running === true && after.running === false)
  );
}

/** Sends an idempotent command and waits for the state it leads to. */
async function command(
  port: PowerPort,
  name: "on" | "off",
  target: "on" | "off",
  timeoutMs: number,
): Promise<void> {
  const endMs = port.clock.monotonicMs() + timeoutMs;
  const lost = await sendOrHold(port, name, target, timeoutMs);
  if (lost === undefined) {
    await reach(port, target, timeoutMs, `the BMC accepted "${name}"`);
    return;
  }
  const { held, last } = await reached(port, target, Math.min(RESEND_AFTER_MS, timeoutMs));
  if (held) return;
  if (lost.class === "auth") throw lost;
  // Only a successful reading shows that the state has not changed.
  const isRead = typeof last === "string";
  if (!isRead && port.clock.monotonicMs() >= endMs) {
    throw notReached(port, `not ${target}, and ${noAnswer(name, lost)}`, last);
  }
  const lostAgain = isRead ? await sendOrHold(port, name, target, timeoutMs) : lost;
  await reach(port, target, timeoutMs, lostAgain ? noAnswer(name, lostAgain) : `the BMC accepted "${name}"`);
}

function noAnswer(name: string, { message }: BmcError): string {
  return `no answer to "${name}" arrived (${message})`;
}

/**
 * Sends an idempotent command. A refusal is success if the machine is already in the wanted state. A lost answer is returned as
 * an error, because only the state shows whether the command was executed. A BMC that is busy, or that refuses after an earlier
 * command, gets the command again until the limit, each time after a look at the state.
 */
async function sendOrHold(
  port: PowerPort,
  name: "on" | "off",
  target: "on" | "off",
  timeoutMs: number,
): Promise<BmcError | undefined> {
  const hasChanged = port.hasChanged();
  const endMs = port.clock.monotonicMs() + timeoutMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await port.send(name);
      return undefined;
    } catch (thrown) {
      const error = BmcError.from(thrown);
      if (error.uncertain) return error;
      if (["auth", "cancelled", "internal", "tls", "usage"].includes(error.class)) throw error;
      const isOffered = error.class !== "unsupported" || (await offered(port, name)) !== undefined;
      if (!isOffered && !hasChanged) throw error;
      // A BMC that refuses because of the power state may show that state later.
      const watchMs = error.class === "state" ? Math.min(RESEND_AFTER_MS, timeoutMs) : REFUSAL_WATCH_MS;
      if ((await reached(withoutWork(port), target, watchMs)).held) return undefined;
      const mayRepeat = hasChanged || error.class === "busy";
      const leftMs = endMs - port.clock.monotonicMs();
      if (!mayRepeat || leftMs <= 0 || error instanceof ChangeFailed) throw error;
      const pauseMs = Math.max(backoffMs(REPEAT, attempt), error.retryAfterMs ?? 0);
      await port.sleep(Math.min(leftMs, pauseMs));
    }
  }
}

/** Plans a command; undefined if the BMC does not offer it. */
async function offered(port: PowerPort, name: PowerCommand): Promise<string | undefined> {
  try {
    return await port.plan(name);
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (error.class === "unsupported") return undefined;
    throw error;
  }
}

/** Waits for a definite state; `unknown` if there was none in time. */
async function settle(port: PowerPort, timeoutMs: number): Promise<PowerState> {
  const state = await port.read();
  if (state !== "unknown") return state;
  const limitMs = Math.min(SETTLE_MS, timeoutMs);
  const { last } = await watch(
    port,
    (read) => read !== "unknown",
    limitMs,
    "waiting for a definite power state",
  );
  if (last instanceof BmcError) throw last;
  return last;
}

async function reach(
  port: PowerPort,
  target: "on" | "off",
  timeoutMs: number,
  soFar: string,
  limitMs = timeoutMs,
): Promise<void> {
  const { held, last, failure } = await reached(port, target, timeoutMs);
  if (held) return;
  // The machine may nevertheless be changing its state.
  if (failure && (await reached(withoutWork(port), target, Math.min(REFUSAL_WATCH_MS, timeoutMs))).held)
    return;
  if (failure) throw failure;
  const words = await port.work?.words();
  const said = words ? ` (${words})` : "";
  throw notReached(port, `not ${target} after ${formatSeconds(limitMs)}, although ${soFar}${said}`, last);
}

function withoutWork({ clock, look, stateName, sleep, progress }: WatchPort): WatchPort {
  return { clock, look, stateName, sleep, progress };
}

/** The error for a state that was not reached in time. Includes the last error if the state could not be read. */
function notReached(port: WatchPort, what: string, last: PowerState | BmcError): BmcError {
  if (typeof last === "string") return new BmcError("timeout", `${what}${unknownState(port, last)}`);
  // Do not report a class that makes the caller try another provider or change the connection: the BMC was only unstable.
  const errorClass = ["unsupported", "usage"].includes(last.class) ? "timeout" : last.class;
  return new BmcError(errorClass, `${what}: ${last.message}`, { cause: last });
}

function unknownState(port: Pick<WatchPort, "stateName">, state: PowerState): string {
  if (state !== "unknown") return "";
  const name = port.stateName();
  return name === undefined ? ": the BMC reports no power state" : `: its power state is ${name}`;
}

/** The end of a watch. */
interface Watched {
  readonly held: boolean;
  /** The last state, or why it could not be read. */
  readonly last: PowerState | BmcError;
  /** Why the command failed, as its task says. */
  readonly failure?: BmcError | undefined;
}

/** Polls until the state is reached. Off must be read twice in a row, because BMCs report it while the machine is still shutting down. */
async function reached(
  port: WatchPort,
  target: "on" | "off",
  timeoutMs: number,
  progress = `waiting for power ${target}`,
): Promise<Watched> {
  const needed = target === "off" ? 2 : 1;
  let matching = 0;
  const watched = await watch(
    port,
    (state) => {
      matching = state === target ? matching + 1 : 0;
      return matching >= needed;
    },
    timeoutMs,
    progress,
  );
  if (watched.held || watched.failure || matching === 0) return watched;
  // The time was over before a second reading could confirm the first one.
  const last = await port.look();
  return { held: last === target, last };
}

/**
 * Reads the state at growing intervals until `done` returns true or the time has expired. A state that has changed resets the
 * interval, so that the confirming reading comes soon. Logs `progress` once it has to wait.
 */
async function watch(
  port: WatchPort,
  done: (state: PowerState) => boolean,
  timeoutMs: number,
  progress: string,
): Promise<Watched> {
  const endMs = port.clock.monotonicMs() + timeoutMs;
  let before: PowerState | undefined;
  let waits = false;
  for (let attempt = 1; ; attempt += 1) {
    const last = await port.look();
    if (typeof last === "string") {
      if (done(last)) return { held: true, last };
      if (last !== before) attempt = 1;
      before = last;
    }
    const failure = await port.work?.failure("the command");
    if (failure) return { held: false, last, failure };
    const leftMs = endMs - port.clock.monotonicMs();
    if (leftMs <= 0) return { held: false, last };
    if (!waits) port.progress(progress, timeoutMs);
    waits = true;
    await port.sleep(Math.min(leftMs, backoffMs(POLL, attempt)));
  }
}
