import { type Backoff, backoffMs } from "../../backoff.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import type { PowerState } from "../../contract/vocabulary.ts";
import { defined } from "../../defined.ts";
import { formatSeconds } from "../../duration.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { ok, warning } from "./finding.ts";
import { BackgroundWork } from "./follow-task.ts";
import { ChangeFailed, EndUnknown } from "./read-back.ts";
import type { Proof } from "./write-proof.ts";

/** One command to a BMC, with the provider's own best way to send it. */
export type PowerCommand = "on" | "off" | "soft-off" | "cycle" | "reset";

/**
 * Power through one provider. A call is one attempt: no retry of a write, no verification, no waiting for
 * the machine; those are the operation's and the same for all providers. Errors are `BmcError`s.
 */
export interface PowerDriver {
  read(signal: AbortSignal): Promise<PowerState>;
  /** The BMC's own word for the state that was read last; undefined if it had none. */
  stateName?(): string | undefined;
  /** What the BMC showed of the machine's last reset in that reading; undefined if it shows nothing of it. */
  resetMark?(): ResetMark | undefined;
  /**
   * What `send` would put on the wire, in one line for people. Changes nothing.
   * Throws `unsupported` when the BMC is known not to offer the command.
   */
  plan(command: PowerCommand, signal: AbortSignal): Promise<string>;
  /**
   * Resolves when the BMC accepted the command, which is not yet that the machine obeyed. `softTimeoutMs` is how long a
   * `soft-off` is waited for.
   */
  send(command: PowerCommand, signal: AbortSignal, softTimeoutMs?: number): Promise<void>;
}

/** What changes with every reset of a machine. */
export interface ResetMark {
  /** When it was last reset, in the BMC's words. */
  readonly resetTime?: string;
  /** How often it has booted. */
  readonly boots?: number;
  /** What it does now, if that is something that only a reset ends: its operating system runs. */
  readonly running?: boolean;
}

/** How to power off: at once, by the operating system, or by the operating system and then at once. */
export type OffMode = "hard" | "soft" | "soft-then-hard";

/** The wanted power states; one of them is enough. */
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
    getPower: (signal: AbortSignal): Promise<PowerState> =>
      run(signal, ({ read }) => read(({ power }) => power.read(signal))),

    /** Like `getPower`, with the BMC's own word for the state. */
    describePower: (signal: AbortSignal): Promise<PowerReading> =>
      run(signal, async (access) => {
        const port = portOf(access, signal);
        const state = await port.read();
        return { state, ...defined({ name: port.stateName() }) };
      }),

    /** Powers the machine on, off or through a cycle or reset, and waits until the state holds; off is read twice. */
    setPower: (request: PowerRequest, signal: AbortSignal): Promise<PowerReport> =>
      run(signal, (access) => setPower(portOf(access, signal), request)),

    /** What `setPower` would send. With a state to assume, the present one is not read. */
    planPower: (
      request: PowerRequest,
      signal: AbortSignal,
      assumed?: PowerState,
    ): Promise<Plan<PowerState>> =>
      run(signal, (access) => {
        const port = portOf(access, signal);
        return planPower(assumed === undefined ? port : assuming(port, assumed), request);
      }),

    /** Waits until something else has powered the machine on or off; sends nothing. */
    waitForPower: (target: "on" | "off", timeoutMs: number, signal: AbortSignal): Promise<PowerReport> =>
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
    /** What the last command left running. */
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

/** First look after half a second, then backing off: some machines need 46 s to power on. */
const POLL: Backoff = { firstMs: 500, maxMs: 5_000, factor: 1.5 };
/** How long to wait for an intermediate state to become definite before a command is sent anyway. */
const SETTLE_MS = 30_000;
/** Between two attempts of a command that a busy BMC refuses. */
const REPEAT: Backoff = { firstMs: 1_000, maxMs: 10_000 };
/** After a lost answer an idempotent command is repeated once when nothing has moved for this long. */
const RESEND_AFTER_MS = 10_000;
/**
 * A BMC may refuse because the machine is on its way already: the state is watched this long before that is an error.
 */
const REFUSAL_WATCH_MS = 3_000;
/** How long the off phase of a cycle that the BMC confirmed is looked for; it may be too short to be seen. */
const CYCLE_WATCH_MS = 10_000;
/** The off time of a cycle that is made of off and on. */
const COMPOSED_OFF_MS = 5_000;

const NOTHING_TO_RESET = "the machine is off: there is nothing to reset";

/** Sets power as the request says, verified. Nothing is sent if it is already so. */
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

/** Waits until a machine that something else powers on or off is there; sends nothing. */
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
  // Off, on and off again has not been off already.
  const summary = seen.size === 1 ? `already ${target}` : `${target} after ${took}`;
  return { before, after: target, changed: false, summary };
}

/** The port as it would be in a state that something before brings about, for a plan. */
function assuming(port: PowerPort, state: PowerState): PowerPort {
  return {
    ...port,
    read: async () => state,
    look: async () => state,
    plan: async (name) => {
      try {
        return await port.plan(name);
      } catch (thrown) {
        // What does not go in the present state says nothing of the other; the request may depend on it.
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
    // BMCs call a shutdown failed that the operating system carries out: it gets its time all the same.
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

/** Why a graceful shutdown was refused; undefined if it was accepted, or may have been, which `doubt` then says. */
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
    // What cannot be powered on again is not powered off.
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
    : // Paused, or any other word, is not off.
      await watch(port, (state) => state === "off", watchMs, "waiting for power off");
  if (failure) throw failure;
  const leftMs = () => Math.max(0, endsMs - port.clock.monotonicMs());
  // What was too fast to be seen is shown by its task alone.
  if (!held) await ended(port, "cycle", { from, before: mark }, { endsMs, limitMs: request.timeoutMs });
  await reach(port, "on", leftMs(), "the cycle was accepted", request.timeoutMs);
  return held ? "off, then on" : "confirmed by the BMC, too fast to observe off";
}

/** A machine that was to be off for a moment is not left off because its state cannot be read. */
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

/** BMCs may say only when it is sent that they have no cycle, for which this is undefined. */
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

/** What the machine showed before a command, and whether it has shown afterwards that it was carried out. */
interface SentCommand {
  readonly mark: ResetMark | undefined;
  readonly isSeen: boolean;
}

/**
 * Sends what does something again each time. After a refusal or a lost answer the machine decides, and only what it proves not to
 * have happened is sent again, or another way.
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

/** Waits for the end of what a command left running. Where the end is unknown, only what the machine shows makes it a success. */
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

/** Whether a reset or a cycle was carried out, by the power, the time of the last reset, the boot count and the boot progress. */
async function deedOf(
  port: PowerPort,
  { from, before }: { readonly from: PowerState; readonly before: ResetMark | undefined },
  limitMs: number,
): Promise<{ readonly proof: Proof; readonly state: PowerState | undefined }> {
  const mark = () => port.resetMark?.();
  // A machine that was on has left that state.
  const left = (state: PowerState) => state === "off" || (from === "on" && state !== "on");
  const done = (state: PowerState) => left(state) || isAnotherReset(before, mark());
  const { held, last } = await watch(withoutWork(port), done, limitMs, "looking whether it was carried out");
  const state = typeof last === "string" ? last : undefined;
  if (held) return { proof: "done", state };
  const isSame = before?.resetTime !== undefined && before.resetTime === mark()?.resetTime;
  return { proof: state !== undefined && isSame ? "not done" : "unknown", state };
}

/** Only a change of what both readings show proves a reset. */
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
  // Only a state that was read shows that nothing has moved.
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
 * Sends a command. A refusal while the state is already right is success; a lost answer is returned, because only the state
 * shows whether the command was carried out. A refusal for the moment, which after an earlier command is every one, has the
 * command, which does no harm twice, sent again until the limit; the state is looked at before.
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

/** What `plan` says, or undefined when the BMC does not offer the command. */
async function offered(port: PowerPort, name: PowerCommand): Promise<string | undefined> {
  try {
    return await port.plan(name);
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (error.class === "unsupported") return undefined;
    throw error;
  }
}

/** A definite state, or `unknown` if there was none in time. */
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
  // The machine may be on its way all the same.
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

/** With what the last look showed, if that is no plain state. */
function notReached(port: WatchPort, what: string, last: PowerState | BmcError): BmcError {
  if (typeof last === "string") return new BmcError("timeout", `${what}${unknownState(port, last)}`);
  // What would have another provider tried, or the connection changed, was said by a BMC that was not itself.
  const errorClass = ["unsupported", "usage"].includes(last.class) ? "timeout" : last.class;
  return new BmcError(errorClass, `${what}: ${last.message}`, { cause: last });
}

function unknownState(port: Pick<WatchPort, "stateName">, state: PowerState): string {
  if (state !== "unknown") return "";
  const name = port.stateName();
  return name === undefined ? ": the BMC reports no power state" : `: its power state is ${name}`;
}

/** What a watch ended with. */
interface Watched {
  readonly held: boolean;
  /** The last state, or why it could not be read. */
  readonly last: PowerState | BmcError;
  /** Why the command failed, as its task says. */
  readonly failure?: BmcError | undefined;
}

/** Polls until the state holds. Off must be read twice in a row: BMCs say it while the machine still runs down. */
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
  // The time has ended between the reading and the one that confirms it.
  const last = await port.look();
  return { held: last === target, last };
}

/**
 * Looks at the state, now and then at growing intervals, until `done` returns true or the time has expired. A reading that
 * moves on resets the interval, so that the confirming one comes soon. `progress` is logged once it has to wait.
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
