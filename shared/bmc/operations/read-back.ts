import { BmcError } from "../../contract/bmc-error.ts";
import type { ErrorClass } from "../../contract/error-class.ts";
import { defined } from "../../defined.ts";
import type { Patience } from "./access.ts";

/** The pauses before each reading, in milliseconds. */
export type Delays = readonly [number, ...number[]];

/**
 * How long BMCs take to apply what they accepted, by what was written: the pauses before each reading, in milliseconds. One
 * reading is early, because most have applied it by then.
 */
export const READ_BACK_MS = {
  /** Settings of the BMC and the machine, logs, keys, LEDs. */
  setting: [0, 500, 1_500, 3_000],
  /** Virtual media. Dell's BMCs report an ejected image for some seconds; others take as long to report a new one. */
  media: [0, 3_000, 3_000],
  /** Accounts. Each reading tries a password, so there are few, because failed logins lock accounts. */
  account: [0, 3_000],
  /** A change that the BMC accepted and denied in the same response. A setting that was already as wanted shows at once. */
  denied: [0, 1_000],
} as const satisfies Readonly<Record<string, Delays>>;

/** Returns a state that a driver has read. Throws `unsupported` if the driver cannot read it and returned undefined. */
export function reported<State>(what: string, state: State | undefined): State {
  if (state === undefined) throw new BmcError("unsupported", `the ${what} cannot be read back`);
  return state;
}

/** Reads after each of the delays until the state is as wanted, because BMCs take a while to apply a change. */
export async function awaitState<State>(
  delaysMs: Delays,
  port: { sleep(ms: number): Promise<void> },
  read: () => Promise<State>,
  isAsked: (state: State) => boolean,
): Promise<State> {
  const [firstMs, ...laterMs] = delaysMs;
  if (firstMs > 0) await port.sleep(firstMs);
  let state = await read();
  for (const delayMs of laterMs) {
    if (isAsked(state)) break;
    await port.sleep(delayMs);
    state = await read();
  }
  return state;
}

/**
 * The error of a change that the BMC accepted and then reports as failed. The state afterwards does not make it a success, and
 * a part of the change may be done.
 */
export class ChangeFailed extends BmcError {
  constructor(message: string, cause?: unknown) {
    super("bmc", message, { cause, uncertain: true });
  }
}

/**
 * The error of a change that the BMC accepted and whose end is unknown. The change is not sent again; what it should have
 * brought about may show its end.
 */
export class EndUnknown extends BmcError {
  constructor(message: string, cause?: unknown) {
    super("verify", message, { cause, uncertain: true });
  }
}

/**
 * Whether an error after a write is final, so that waiting does not help. A refused login is final because accounts lock; a
 * missing right is not, because BMCs refuse permissions while they apply a change.
 */
export function isFinal(error: BmcError): boolean {
  if (error instanceof ChangeFailed) return true;
  return error.class === "auth" ? error.refused === "login" : ["cancelled", "internal"].includes(error.class);
}

/** A setting before and after a change. */
export interface Change<State> {
  readonly before: State;
  readonly after: State;
  readonly changed: boolean;
}

interface AskedSetting<State> {
  /** For people. */
  readonly asked: string;
  readonly isSet: (state: State) => boolean;
  readonly describe: (state: State) => string;
  /** Throws if the setting cannot be changed in this state. */
  readonly check?: (before: State) => void;
}

interface SettingPort<State> {
  /** Reads the setting. */
  read(): Promise<State>;
  write(patience: Patience): Promise<void>;
  /** Returns a substitute for a state that cannot be read; absent if the setting must be read before it is changed. */
  repairing?(): State;
  sleep(ms: number): Promise<void>;
  /** Adds to the next write what some BMCs need without saying so. See `SessionBase.insist`. */
  insist?(): (() => void) | undefined;
}

/**
 * Reads a setting, writes it unless it is already as wanted, and reads it back until it is. Throws `verify` with both values if
 * the BMC keeps another one.
 */
export async function changeSetting<State>(
  port: SettingPort<State>,
  setting: AskedSetting<Exclude<State, undefined>>,
): Promise<Change<State>> {
  let read = () => port.read();
  const before = await read().catch((thrown: unknown) => {
    const { repairing } = port;
    if (!repairing || !isRepairable(thrown)) throw thrown;
    read = () => port.read().catch(repairing);
    return repairing();
  });
  if (isRead(before)) {
    if (setting.isSet(before)) return { before, after: before, changed: false };
    setting.check?.(before);
  }
  return { before, after: await writeSetting({ ...port, read }, setting), changed: true };
}

/** Whether a failed read may be fixed by writing the setting, because the BMC has it. */
function isRepairable(thrown: unknown): boolean {
  return ["bmc", "protocol", "state"].includes(BmcError.from(thrown).class);
}

/** Reads a setting; undefined if that fails and writing the setting may fix it. */
export function readIfPossible<State>(read: () => Promise<State>): Promise<State | undefined> {
  return read().catch((thrown: unknown) => {
    if (!isRepairable(thrown)) throw thrown;
    return undefined;
  });
}

/**
 * Writes a setting once and reads it back until it is as wanted. Only the state decides: also after a refusal, a lost answer,
 * or an answer that both accepts and denies the write.
 */
export async function writeSetting<State>(
  port: SettingPort<State>,
  { asked, isSet, describe }: Pick<AskedSetting<Exclude<State, undefined>>, "asked" | "isSet" | "describe">,
): Promise<State> {
  const shows = async () => {
    const state = await port.read();
    return isRead(state) && isSet(state) ? { state } : undefined;
  };
  const patience: Patience = { isDone: async () => (await shows()) !== undefined };
  const error = await answerTo(() => port.write(patience));
  if (error && !error.uncertain) {
    const found = await shows().catch(() => undefined);
    if (found) return found.state;
    throw error;
  }
  const delays = error && isDenial(error) ? READ_BACK_MS.denied : READ_BACK_MS.setting;
  const isDone = (state: State) => !isRead(state) || isSet(state);
  const readBack = () => awaitState(delays, port, port.read, isDone);
  const first = await readBack();
  const again = async () => {
    await port.write(patience);
    return readBack();
  };
  const after = error ? first : await insisting(port, first, isDone, again);
  if (isRead(after) && !isSet(after)) {
    throw unverified(`asked for ${asked}, the BMC keeps ${describe(after)}`, error);
  }
  if (error && !isRead(after)) throw error;
  return after;
}

/** Whether the BMC accepted a write and denied all or part of it in the same response. */
export function isDenial(error: BmcError): boolean {
  return error.uncertain && error.class === "verify" && !(error instanceof EndUnknown);
}

/** The error of a write that the state does not show. Says what the BMC has, and its own error or why the answer was lost. */
export function unverified(has: string, lost: BmcError | undefined): BmcError {
  if (!lost) return new BmcError("verify", has);
  const uncertain = !isDenial(lost);
  return new BmcError(lost.class, `${lost.message}; ${has}`, { cause: lost, uncertain });
}

/**
 * Reads the state after an accepted write. If the BMC did not keep the value, writes once more with what some BMCs silently
 * require, if there is such a thing.
 */
export async function insisting<State>(
  port: Pick<SettingPort<State>, "insist">,
  state: State,
  isDone: (state: State) => boolean,
  again: () => Promise<State>,
): Promise<State> {
  const undo = isDone(state) ? undefined : port.insist?.();
  if (!undo) return state;
  try {
    const next = await again();
    if (!isDone(next)) undo();
    return next;
  } catch (thrown) {
    undo();
    throw thrown;
  }
}

function isRead<State>(state: State): state is Exclude<State, undefined> {
  return state !== undefined;
}

/** Errors after which the state says nothing about the write. */
const LOCAL: readonly ErrorClass[] = ["cancelled", "internal", "tls", "usage"];

/** Writes once. Returns any error that reading the state may disprove; throws others, such as a refused login. */
export async function answerTo(write: () => Promise<void>): Promise<BmcError | undefined> {
  const error = await caught(write);
  if (!error) return undefined;
  if (LOCAL.includes(error.class) || error.refused === "login" || error instanceof ChangeFailed) throw error;
  return error;
}

/** Writes once. Returns a refusal that reading the state may disprove; throws one that another provider or account may avoid. */
export async function refusalOf(write: () => Promise<void>): Promise<BmcError | undefined> {
  const error = await answerTo(write);
  if (error && ["auth", "unsupported"].includes(error.class)) throw error;
  return error;
}

/** Returns the error of a call; undefined if it succeeded. */
export async function caught(work: () => Promise<unknown>): Promise<BmcError | undefined> {
  try {
    await work();
    return undefined;
  } catch (thrown) {
    return BmcError.from(thrown);
  }
}

/** The error of a write whose answer was lost, after which only a read shows the result; other errors are thrown. */
export async function uncertainty(write: () => Promise<void>): Promise<BmcError | undefined> {
  const error = await caught(write);
  if (error && !error.uncertain) throw error;
  return error;
}

/**
 * Sends a request whose work takes minutes. A BMC that answers `busy` may have begun it nevertheless
 * (openbmc/phosphor-bmc-code-mgmt issue 10), so that answer leaves the result open, and the request is not repeated.
 */
export async function once(send: () => Promise<void>): Promise<void> {
  try {
    await send();
  } catch (thrown) {
    const { class: errorClass, message, retryAfterMs } = BmcError.from(thrown);
    if (errorClass !== "busy") throw thrown;
    throw new BmcError("busy", message, { cause: thrown, ...defined({ retryAfterMs }), uncertain: true });
  }
}

/** Sends a request that is not idempotent. A lost answer is an error and is never retried. */
export async function sendOnce(send: () => Promise<void>, mayHave: string): Promise<void> {
  const lost = await uncertainty(send);
  if (!lost) return;
  const message = `${lost.message}; ${mayHave} and is not sent again`;
  throw new BmcError(lost.class, message, { cause: lost, uncertain: true });
}
