import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { NetworkChange, NetworkDriver } from "../../../operations/network-port.ts";
import { type Answer, type CommandChannel, dataOf, exchange } from "../commands/channel.ts";
import {
  COMPLETED,
  completionError,
  INVALID_FIELD,
  NOT_IN_PRESENT_STATE,
  OUT_OF_RANGE,
  PASSING,
} from "../commands/completion-code.ts";
import type { LanChannel } from "../commands/lan-channel.ts";
import {
  changesBack,
  commitWrite,
  getLanParameters,
  getParameter,
  type LanChange,
  type LanParameter,
  lanChanges,
  parseLanParameters,
  setComplete,
  setInProgress,
} from "../commands/lan-parameters.ts";

/** The completion code for "Parameter not supported". */
const NO_PARAMETER = 0x80;

/** The LAN channel that the session uses. IPMI has no host name. */
export function ipmiNetwork(channel: CommandChannel, lan: LanChannel, clock: Clock): NetworkDriver {
  const settings = async (number: number, signal: AbortSignal) =>
    parseLanParameters(number, await channel.run(getLanParameters(number), signal));
  return {
    list: async (signal) => [await settings(await lan.number(signal), signal)],
    plan: async (change) => lanChanges(change).map(({ command, text }) => `${command.name}: ${text}`),
    async write(change, signal) {
      await new LanWrite(channel, clock, change).run(signal);
    },
    async finish(signal) {
      await setCompleteUntilTaken(channel, clock, await lan.number(signal), signal);
    },
  };
}

/** Pauses before a parameter is sent again: BMCs may refuse it for some seconds and then accept it. */
const PARAMETER_PAUSES_MS = [500, 1_000, 1_000, 2_000] as const;
/** Pauses before Set Complete is sent again. */
const COMPLETE_PAUSES_MS = [500, 1_000, 2_000, 2_000] as const;
/** Time limit for ending a change that has failed or was cancelled. */
const END_LIMIT_MS = 15_000;
/** Time limit for ending a change if the BMC was silent before. */
const UNKNOWN_END_LIMIT_MS = 5_000;

/** One change of the parameters, in progress until Set Complete is accepted. A change that fails is undone. */
class LanWrite {
  readonly #channel: CommandChannel;
  readonly #clock: Clock;
  readonly #change: NetworkChange;
  readonly #number: number;
  /** The parameters that the BMC has accepted. */
  readonly #taken: LanChange[] = [];

  constructor(channel: CommandChannel, clock: Clock, change: NetworkChange) {
    this.#channel = channel;
    this.#clock = clock;
    this.#change = change;
    this.#number = Number(change.target.id);
  }

  async run(signal: AbortSignal): Promise<void> {
    const changes = lanChanges(this.#change);
    // Many BMCs lack the parameter and apply each of the others immediately.
    const isLocked = await this.#lock(signal);
    try {
      for (const change of changes) {
        await this.#set(change, signal);
        this.#taken.push(change);
      }
    } catch (thrown) {
      throw await this.#broken(changes, thrown, { isLocked, isStopped: signal.aborted });
    }
    if (!isLocked) return;
    try {
      await this.#commit(signal);
      await setCompleteUntilTaken(this.#channel, this.#clock, this.#number, signal);
    } catch (thrown) {
      throw halfMade(BmcError.from(thrown), changes, changes.length);
    }
  }

  /** Locks the parameters. Returns false if the BMC does not have that parameter. */
  async #lock(signal: AbortSignal): Promise<boolean> {
    try {
      const answer = await exchange(this.#channel, setInProgress(this.#number), signal);
      if (answer.completionCode !== COMPLETED && saysNothingOfLock(answer)) return false;
      dataOf(answer);
      return true;
    } catch (thrown) {
      const mayBeLocked = signal.aborted || BmcError.from(thrown).uncertain;
      if (mayBeLocked) await this.#end([], END_LIMIT_MS).catch(() => undefined);
      throw thrown;
    }
  }

  /** Commits the change. Without this step, Set Complete suffices; with it, Set Complete alone discards the change. */
  async #commit(signal: AbortSignal): Promise<void> {
    for (const pauseMs of COMPLETE_PAUSES_MS) {
      const { completionCode } = await exchange(this.#channel, commitWrite(this.#number), signal);
      if (!PASSING.has(completionCode)) return;
      await this.#clock.sleep(pauseMs, signal);
    }
  }

  /** Undoes these changes and ends the change, with its own time limit. */
  async #end(back: readonly LanChange[], limitMs: number, isLocked = true): Promise<void> {
    const signal = AbortSignal.timeout(limitMs);
    for (const change of back) await this.#set(change, signal);
    if (isLocked) await setCompleteUntilTaken(this.#channel, this.#clock, this.#number, signal);
  }

  /** Sets a parameter. A refusal counts only if the BMC does not have the value anyway, and keeps it. */
  async #set({ command, parameter, value }: LanChange, signal: AbortSignal): Promise<void> {
    for (const pauseMs of [...PARAMETER_PAUSES_MS, undefined]) {
      const answer = await exchange(this.#channel, command, signal);
      if (answer.completionCode === COMPLETED) return;
      const isFinal = pauseMs === undefined || !MAY_COME.has(answer.completionCode);
      if (await this.#has(parameter, value, signal)) return;
      if (isFinal) dataOf(answer);
      else await this.#clock.sleep(pauseMs, signal);
    }
  }

  async #has(parameter: LanParameter, value: readonly number[], signal: AbortSignal): Promise<boolean> {
    const answer = await exchange(this.#channel, getParameter(this.#number, parameter), signal);
    const { completionCode, data } = answer;
    return completionCode === COMPLETED && data.subarray(1, 1 + value.length).equals(Buffer.from(value));
  }

  /** Ends the change and undoes what the BMC has accepted. Returns the error that says so. */
  async #broken(
    changes: readonly LanChange[],
    thrown: unknown,
    { isLocked, isStopped }: { readonly isLocked: boolean; readonly isStopped: boolean },
  ): Promise<BmcError> {
    const error = BmcError.from(thrown);
    const taken = this.#taken.length;
    const isUnknown = error.uncertain || isStopped;
    const open = changes.slice(taken, taken + 1);
    // The session may have been lost with the old address; the operation searches the BMC.
    const isAway = isUnknown && [...this.#taken, ...open].some(({ parameter }) => MOVES.includes(parameter));
    if (isAway && error.class !== "cancelled") return halfMade(error, changes, taken + 1);
    try {
      const back = changesBack(this.#change, [...this.#taken, ...(isUnknown ? open : [])]);
      await this.#end(back, isUnknown ? UNKNOWN_END_LIMIT_MS : END_LIMIT_MS, isLocked);
    } catch (second) {
      const also = BmcError.from(second).message;
      const both = new BmcError(error.class, `${error.message}; not taken back: ${also}`, { cause: error });
      return halfMade(both, changes, taken + 1);
    }
    if (taken === 0 && !isUnknown) return error;
    const text = `${error.message}; the settings before it are taken back`;
    return new BmcError(error.class, text, { cause: error });
  }
}

/** Parameters with which a BMC may leave the address or network of the session. */
const MOVES: readonly LanParameter[] = ["source", "vlan", "address"];

/** The session was lost with the old address, or the BMC is silent or refuses, perhaps before everything was sent. */
function halfMade(error: BmcError, changes: readonly LanChange[], sent: number): BmcError {
  const lines = changes.map(({ text }) => text);
  const unsent = lines.slice(sent);
  const rest = unsent.length > 0 ? `, not sent: ${unsent.join(", ")}` : "";
  const half = `the change may be half made (sent: ${lines.slice(0, sent).join(", ")}${rest})`;
  const errorClass = error.class === "unsupported" ? "bmc" : error.class;
  return new BmcError(errorClass, `${error.message}; ${half}`, { cause: error, uncertain: true });
}

/** Codes of parameters that may be accepted a moment later. */
const MAY_COME: ReadonlySet<number> = new Set([
  ...PASSING,
  ...[INVALID_FIELD, OUT_OF_RANGE, NOT_IN_PRESENT_STATE],
]);

/** Classes of refusals of the lock that are temporary or concern the session, not the parameter. */
const OF_LOCK: readonly BmcError["class"][] = ["busy", "timeout", "auth"];

function saysNothingOfLock(answer: Answer): boolean {
  return !OF_LOCK.includes(completionError(answer.command, answer.completionCode).class);
}

/** Repeats Set Complete until it is accepted: a change in progress locks out other consoles. */
async function setCompleteUntilTaken(
  channel: CommandChannel,
  clock: Clock,
  number: number,
  signal: AbortSignal,
): Promise<void> {
  for (const pauseMs of [...COMPLETE_PAUSES_MS, undefined]) {
    const answer = await exchange(channel, setComplete(number), signal);
    if (answer.completionCode === COMPLETED || answer.completionCode === NO_PARAMETER) return;
    if (pauseMs === undefined) dataOf(answer);
    else await clock.sleep(pauseMs, signal);
  }
}
