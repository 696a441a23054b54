import { BmcError } from "../../contract/bmc-error.ts";
import type { SessionProvider } from "../../contract/vocabulary.ts";
import { formatSeconds } from "../../duration.ts";
import { isConnectionRefused } from "../../network-reason.ts";
import { neverAborted } from "../../never-aborted.ts";
import { withTimeout } from "../../timeout.ts";
import { type Access, defineOperations, type Plan, type Run, type SessionBase } from "./access.ts";
import { ok } from "./finding.ts";
import { BackgroundWork } from "./follow-task.ts";
import type { PowerDriver } from "./power.ts";
import { isFinal, uncertainty } from "./read-back.ts";

/** The kind of restart. `cold` also initializes the BMC's hardware. */
export type BmcResetKind = "cold" | "warm";

/** What the BMC reports about itself. A field that it does not report is absent. */
export interface BmcInfo {
  /** Vendor of the machine or its BMC. */
  readonly vendor?: string;
  /** Model of the machine or its BMC. */
  readonly model?: string;
  /** The BMC's firmware version. */
  readonly firmware?: string;
  /** Redfish version or IPMI version. */
  readonly protocolVersion?: string;
  /** The machine's serial number. */
  readonly serial?: string;
  /** The machine's UUID. */
  readonly uuid?: string;
}

export interface ManagerDriver {
  /** Returns what `reset` would send, in one line for display. Throws `unsupported` if the BMC is known not to support it. */
  plan(kind: BmcResetKind, signal: AbortSignal): Promise<string>;
  /** Resets the BMC. Resolves when the BMC has accepted it; then the BMC and this session are unavailable for a while. */
  reset(kind: BmcResetKind, signal: AbortSignal): Promise<void>;
  info(signal: AbortSignal): Promise<BmcInfo>;
  /** Reads the BMC's clock in milliseconds since the epoch. Resolves to undefined if the BMC does not report it. */
  clockMs(signal: AbortSignal): Promise<number | undefined>;
  /** Reads when the BMC last started. Resolves to undefined if the BMC does not report it. */
  lastStart?(signal: AbortSignal): Promise<BmcStart | undefined>;
}

/** When a BMC last started. Both times are by its own clock, in milliseconds since the epoch. */
export interface BmcStart {
  readonly startedMs: number;
  /** When this was read. */
  readonly clockMs?: number;
}

/** The result of restarting a BMC. */
export interface ManagerResetReport {
  /** A restart is always sent. */
  readonly changed: true;
  /** The result in one line for display. */
  readonly summary: string;
}

type ManagerDrivers = { readonly power: PowerDriver; readonly manager: ManagerDriver };

export const managerOperations = defineOperations({
  title: "BMC reset, info, clock",
  methods: (run: Run<ManagerDrivers>) => ({
    /** Reads what the BMC reports about itself. */
    getInfo: (signal: AbortSignal = neverAborted()): Promise<BmcInfo> =>
      run(signal, ({ read }) => read(({ manager }) => manager.info(signal))),

    /** Reads the BMC's clock in milliseconds since the epoch. Resolves to undefined if the BMC does not report it. */
    getClock: (signal: AbortSignal = neverAborted()): Promise<number | undefined> =>
      run(signal, ({ read }) => read(({ manager }) => manager.clockMs(signal))),

    /**
     * Restarts the BMC and waits for proof of the restart through the provider that sent the reset. `onSent` is called when
     * the reset was sent.
     */
    resetManager: (
      kind: BmcResetKind,
      timeoutMs: number,
      signal: AbortSignal = neverAborted(),
      onSent: () => void = () => undefined,
    ): Promise<ManagerResetReport> =>
      run(signal, (access) => resetManager(portOf(access, kind, signal, onSent), kind, timeoutMs)),

    /** Returns what `resetManager` would send. `before` is what the BMC reports about itself. */
    planManagerReset: (kind: BmcResetKind, signal: AbortSignal = neverAborted()): Promise<Plan<BmcInfo>> =>
      run(signal, async ({ read }) => {
        const step = await read(({ manager }) => manager.plan(kind, signal));
        return { before: await read(({ manager }) => manager.info(signal)), steps: [step] };
      }),
  }),
  check: async ({ read }, signal) => ok(describeInfo(await read(({ manager }) => manager.info(signal)))),
});

/** The operations on the BMC itself, with retries. */
type ManagerPort = Omit<ReturnType<typeof portOf>, "work" | "disprove"> & {
  disprove?(): void;
  /** What the reset left running. */
  readonly work?: Pick<BackgroundWork<ManagerDrivers>, "failure">;
};

function portOf(access: Access<ManagerDrivers>, kind: BmcResetKind, signal: AbortSignal, onSent: () => void) {
  const { clock, read, afresh, setAside, disprove, sleep, progress } = access;
  const work = new BackgroundWork(access, signal);
  let through: SessionProvider | undefined;
  let isForgotten: SessionBase["isForgotten"];
  return {
    clock,
    lastStart: () => read(async ({ manager }) => manager.lastStart?.(signal)),
    reset: async () => {
      await work.start(({ provider, manager }) => {
        through = provider;
        return manager.reset(kind, signal);
      });
      isForgotten = setAside();
    },
    work,
    disprove,
    /** Makes one attempt on a new session through the provider that sent the reset, in which no answer counts as an answer. */
    probe: (limitMs: number, readsStart: boolean): Promise<BmcStart | undefined> =>
      withTimeout(limitMs, signal, (limit) =>
        afresh(through, limit, async ({ power, manager }) => {
          await power.read(limit);
          return readsStart ? manager.lastStart?.(limit) : undefined;
        }),
      ),
    /** Whether the BMC has forgotten the session that sent the reset; undefined if that cannot be determined. */
    isForgotten: async (limitMs: number): Promise<boolean | undefined> =>
      isForgotten && withTimeout(limitMs, signal, isForgotten).catch(noAnswer),
    sleep,
    progress,
    onSent,
  };

  function noAnswer(): undefined {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Describes the BMC as far as it reports: `Contoso BMC-2000, firmware 1.45.455b66, serial XYZ7`. */
export function describeInfo({ vendor, model, firmware, serial }: BmcInfo): string {
  const parts = [
    vendorAndModel(vendor, model) || "BMC",
    firmware && `firmware ${firmware}`,
    serial && `serial ${serial}`,
  ];
  return parts.filter((part) => part).join(", ");
}

/** Joins vendor and model, unless the model already contains the vendor. Empty if neither is known. */
export function vendorAndModel(vendor: string | undefined, model: string | undefined): string {
  const maker = vendor !== undefined && model?.startsWith(vendor) ? undefined : vendor;
  return [maker, model].filter((part) => part !== undefined).join(" ");
}

/** How long BMCs may still answer after a reset. Until a BMC was silent, it may not have restarted yet. */
const GOES_AWAY_MS = 60_000;
const WATCH_MS = 1_000;
const WAIT_MS = 2_000;
/** The number of failed polls that count as silence, because one may fail for another reason: a lost packet, a gateway. */
const SURE_LOOKS = 2;
/** A BMC that accepts no connection for this long is unavailable. */
const SILENT_MS = 1_000;
/** How long a silence may be explained by the fault that lost the answer to the reset. */
const SAME_FAULT_MS = 15_000;
/** How long a BMC may take to show its new start, which it may only do when its clock is set. */
const SHOWS_START_MS = 30_000;
/** The tolerance for the time of a start, because computed times differ by some seconds between reads. */
const SAME_START_MS = 5_000;
/** IPMI 2.0 section 6.12.15: a BMC ends a session after a minute without a packet. */
const IDLE_MS = 55_000;

/**
 * Restarts the BMC and waits, at most for `timeoutMs`, for proof of the restart: the time of its last start, a session that
 * it has forgotten, or a silence that nothing else explains. Another provider that answers sooner does not count. The reset
 * is never sent twice: if it is refused or its answer is lost, only a BMC that never becomes unavailable has proved that it
 * did not accept it.
 */
export async function resetManager(
  port: ManagerPort,
  kind: BmcResetKind,
  timeoutMs: number,
): Promise<ManagerResetReport> {
  const readMs = port.clock.monotonicMs();
  const start = comparable(await port.lastStart());
  const startedMs = port.clock.monotonicMs();
  const elapsedMs = () => port.clock.monotonicMs() - startedMs;
  const leftMs = (limitMs: number) => Math.max(0, limitMs - elapsedMs());
  // A BMC that restarts at once does not answer.
  const lost = await uncertainty(port.reset);
  port.onSent();
  const proof = new ResetProof({ start, readMs, lost, sentMs: port.clock.monotonicMs() });
  const watchMs = Math.min(GOES_AWAY_MS, timeoutMs);
  let watchEndMs = watchMs;
  let silence: BmcError | undefined;
  port.progress("reset sent, waiting until the BMC is silent", leftMs(watchMs));
  for (let pauseMs = WATCH_MS; leftMs(silence ? timeoutMs : watchEndMs) > 0; ) {
    await port.sleep(Math.min(pauseMs, leftMs(timeoutMs)));
    const wasAway = proof.isAway;
    // The last probe is sent when the time has expired.
    const limitMs = Math.max(WATCH_MS, leftMs(timeoutMs));
    const atMs = port.clock.monotonicMs();
    const seen = await lookAt(port, limitMs, start !== undefined);
    const isForgotten = isReached(seen) ? await port.isForgotten(limitMs) : undefined;
    proof.add(seen, { isForgotten, atMs, nowMs: port.clock.monotonicMs() });
    silence = seen instanceof BmcError ? seen : undefined;
    if (!silence && proof.isDone) {
      const after = formatSeconds(elapsedMs());
      return { changed: true, summary: `BMC reset (${kind}), answers again after ${after}` };
    }
    pauseMs = proof.isAway ? WAIT_MS : WATCH_MS;
    const refused = silence ? undefined : await port.work?.failure("the reset of the BMC");
    if (refused) throw refused;
    if (wasAway && !silence) {
      watchEndMs = Math.min(timeoutMs, Math.max(watchEndMs, elapsedMs() + SHOWS_START_MS));
    }
    if (!wasAway && proof.isAway) port.progress("waiting until the BMC answers again", leftMs(timeoutMs));
  }
  if (silence) {
    const text = `the BMC did not answer within ${formatSeconds(timeoutMs)} of its reset`;
    throw new BmcError("timeout", `${text}: ${silence.message}`, { cause: silence });
  }
  throw unproven(port, kind, { proof, lost, watchMs });
}

/** Returns the last start before a reset, unless it is too recent to be distinguished from the next one. */
function comparable(start: BmcStart | undefined): BmcStart | undefined {
  const ageMs = start?.clockMs === undefined ? undefined : start.clockMs - start.startedMs;
  return ageMs !== undefined && ageMs < 2 * SAME_START_MS ? undefined : start;
}

/** The result of one poll: when the BMC started, if it says so, or why it did not answer. */
type Seen = BmcStart | undefined | BmcError;

async function lookAt(port: ManagerPort, limitMs: number, readsStart: boolean): Promise<Seen> {
  try {
    return await port.probe(limitMs, readsStart);
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (!isFinal(error)) return error;
    if (error.class === "cancelled") throw error;
    throw new BmcError(error.class, `after the reset of the BMC: ${error.message}`, { cause: error });
  }
}

/** Whether the BMC gave any answer. */
function isReached(seen: Seen): boolean {
  return !(seen instanceof BmcError) || !["unreachable", "timeout"].includes(seen.class);
}

interface Sent {
  /** The last start before the reset, and when it was read on the monotonic clock. */
  readonly start: BmcStart | undefined;
  readonly readMs: number;
  readonly sentMs: number;
  /** The error because of which it is unknown whether the reset was accepted. */
  readonly lost: BmcError | undefined;
}

/** Collects what polls of a BMC prove about its reset. */
class ResetProof {
  readonly #sent: Sent;
  #lastHeardMs: number;
  #silentLooks = 0;
  #silentSinceMs: number | undefined;
  #hasAnswered = false;
  #hasRefused = false;
  #forgotten = 0;
  #isSilenceProof = false;
  #denial: string | undefined;
  #isRestarted = false;
  #wasSilent = false;

  constructor(sent: Sent) {
    this.#sent = sent;
    this.#lastHeardMs = sent.sentMs;
  }

  /** Whether the BMC has been silent for more than one poll. */
  get isAway(): boolean {
    return this.#silentLooks >= SURE_LOOKS;
  }

  /** Whether the reset is proven. */
  get isDone(): boolean {
    return this.#isRestarted || (this.#isSilenceProof && this.#denial === undefined);
  }

  /** The evidence against the reset, for display. */
  get denial(): string | undefined {
    return this.#denial;
  }

  /** Whether the BMC was silent once, for any reason. */
  get wasSilent(): boolean {
    return this.#wasSilent;
  }

  add(
    seen: Seen,
    {
      isForgotten,
      atMs,
      nowMs,
    }: { readonly isForgotten: boolean | undefined; readonly atMs: number; readonly nowMs: number },
  ): void {
    this.#noteSession(isForgotten, nowMs);
    if (seen instanceof BmcError) {
      const isSilent = seen.class === "unreachable" && nowMs - atMs >= SILENT_MS;
      this.#silentSinceMs ??= atMs;
      this.#hasRefused ||= isConnectionRefused(seen);
      this.#silentLooks += isSilent ? SURE_LOOKS : 1;
      this.#wasSilent ||= this.isAway;
      return;
    }
    if (this.isAway) this.#noteSilence(nowMs);
    this.#denial = undefined;
    this.#silentLooks = 0;
    this.#silentSinceMs = undefined;
    this.#hasAnswered = true;
    if (seen) this.#noteStart(seen, nowMs);
    else if (isForgotten === false) this.#denial = "it still knows the session that it was sent in";
  }

  #noteSession(isForgotten: boolean | undefined, nowMs: number): void {
    if (isForgotten === undefined) return;
    if (!isForgotten) {
      this.#lastHeardMs = nowMs;
      this.#forgotten = 0;
    } else if (nowMs - this.#lastHeardMs < IDLE_MS) this.#forgotten += 1;
    const looks = this.isAway ? 1 : SURE_LOOKS;
    if (this.#forgotten >= looks) this.#isRestarted = true;
  }

  #noteSilence(nowMs: number): void {
    const { lost } = this.#sent;
    const lastedMs = nowMs - (this.#silentSinceMs ?? nowMs);
    // A lost packet is not a refusal by the host.
    const isOther = this.#hasAnswered || this.#hasRefused || lastedMs >= SAME_FAULT_MS;
    this.#isSilenceProof ||= lost === undefined || isOther;
  }

  #noteStart({ startedMs, clockMs }: BmcStart, nowMs: number): void {
    const { start, readMs } = this.#sent;
    if (!start) return;
    const shiftMs = startedMs - start.startedMs;
    // Setting the clock also moves a start that is computed from the uptime.
    const setMs =
      clockMs === undefined || start.clockMs === undefined ? 0 : clockMs - start.clockMs - (nowMs - readMs);
    if (Math.min(Math.abs(shiftMs), Math.abs(shiftMs - setMs)) > SAME_START_MS) this.#isRestarted = true;
    else this.#denial = `its last reset was at ${new Date(startedMs).toISOString()}, as before`;
  }
}

function unproven(
  port: Pick<ManagerPort, "disprove">,
  kind: BmcResetKind,
  {
    proof,
    lost,
    watchMs,
  }: { readonly proof: ResetProof; readonly lost: BmcError | undefined; readonly watchMs: number },
): BmcError {
  const silence = proof.wasSilent
    ? "it was silent and answers again, which need not be its restart"
    : `it did not become unreachable within ${formatSeconds(watchMs)}`;
  const seen = [silence, proof.denial].filter((text) => text !== undefined).join(", and ");
  const isWatched = watchMs === GOES_AWAY_MS;
  if (lost?.class === "unsupported" && kind === "cold" && isWatched && !proof.wasSilent) {
    port.disprove?.();
    return new BmcError("unsupported", `${lost.message}; ${seen}`, { cause: lost });
  }
  if (lost) {
    const text = `${lost.message}; the BMC may have been reset, ${seen}: not sent again`;
    const errorClass = lost.class === "unreachable" ? "timeout" : lost.class;
    return new BmcError(errorClass, text, { cause: lost, uncertain: true });
  }
  const text = `the BMC accepted the ${kind} reset, but ${seen}`;
  if (!isWatched) return new BmcError("timeout", text);
  return new BmcError("verify", `${text}: the end is unknown`, { uncertain: true });
}
