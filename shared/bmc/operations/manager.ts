import { BmcError } from "../../contract/bmc-error.ts";
import type { SessionProvider } from "../../contract/vocabulary.ts";
import { formatSeconds } from "../../duration.ts";
import { withTimeout } from "../../timeout.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { BackgroundWork } from "./follow-task.ts";
import type { PowerDriver } from "./power.ts";
import { isFinal, uncertainty } from "./read-back.ts";

/** How a BMC restarts: `cold` also initializes its hardware. */
export type BmcResetKind = "cold" | "warm";

/** What the BMC reports about itself; a field it does not report is absent. */
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
  /** What `reset` would send, in one line for people. Throws `unsupported` where the BMC is known not to offer it. */
  plan(kind: BmcResetKind, signal: AbortSignal): Promise<string>;
  /** Resolves when the BMC accepted; it then goes away for a while and this session with it. */
  reset(kind: BmcResetKind, signal: AbortSignal): Promise<void>;
  info(signal: AbortSignal): Promise<BmcInfo>;
  /** The BMC's clock, milliseconds since the epoch; undefined where the BMC does not report it. */
  clockMs(signal: AbortSignal): Promise<number | undefined>;
}

/** Result of a BMC's restart. */
export interface ManagerResetReport {
  /** A restart is always sent. */
  readonly changed: true;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type ManagerDrivers = { readonly power: PowerDriver; readonly manager: ManagerDriver };

export const managerOperations = defineOperations({
  title: "BMC reset, info, clock",
  methods: (run: Run<ManagerDrivers>) => ({
    /** Reads what the BMC reports about itself. */
    getInfo: (signal: AbortSignal): Promise<BmcInfo> =>
      run(signal, ({ read }) => read(({ manager }) => manager.info(signal))),

    /** Reads the BMC's clock, milliseconds since the epoch; undefined where the BMC does not report it. */
    getClock: (signal: AbortSignal): Promise<number | undefined> =>
      run(signal, ({ read }) => read(({ manager }) => manager.clockMs(signal))),

    /**
     * Restarts the BMC and waits until it was silent and answers again, through the provider that took the reset.
     * `onSent` is called when the reset was sent.
     */
    resetManager: (
      kind: BmcResetKind,
      timeoutMs: number,
      signal: AbortSignal,
      onSent: () => void = () => undefined,
    ): Promise<ManagerResetReport> =>
      run(signal, (access) => resetManager(portOf(access, kind, signal, onSent), kind, timeoutMs)),

    /** What `resetManager` would send; `before` is what the BMC reports about itself. */
    planManagerReset: (kind: BmcResetKind, signal: AbortSignal): Promise<Plan<BmcInfo>> =>
      run(signal, async ({ read }) => {
        const step = await read(({ manager }) => manager.plan(kind, signal));
        return { before: await read(({ manager }) => manager.info(signal)), steps: [step] };
      }),
  }),
  check: async ({ read }, signal) => ok(describeInfo(await read(({ manager }) => manager.info(signal)))),
});

/** The BMC itself; what `resetManager` needs and no more. */
type ManagerPort = Omit<ReturnType<typeof portOf>, "work" | "disprove"> & {
  disprove?(): void;
  /** What the reset left running. */
  readonly work?: Pick<BackgroundWork<ManagerDrivers>, "failure">;
};

function portOf(access: Access<ManagerDrivers>, kind: BmcResetKind, signal: AbortSignal, onSent: () => void) {
  const { clock, afresh, disprove, sleep, progress } = access;
  const work = new BackgroundWork(access, signal);
  let through: SessionProvider | undefined;
  return {
    clock,
    reset: () =>
      work.start(({ provider, manager }) => {
        through = provider;
        return manager.reset(kind, signal);
      }),
    work,
    disprove,
    /** One attempt on a new session through the provider that took the reset, in which silence is an answer. */
    probe: (limitMs: number): Promise<unknown> =>
      withTimeout(limitMs, signal, (limit) => afresh(through, limit, ({ power }) => power.read(limit))),
    sleep,
    progress,
    onSent,
  };
}

/** For people, as far as the BMC reports it: `Contoso BMC-2000, firmware 1.45.455b66, serial XYZ7`. */
export function describeInfo({ vendor, model, firmware, serial }: BmcInfo): string {
  const parts = [
    vendorAndModel(vendor, model) || "BMC",
    firmware && `firmware ${firmware}`,
    serial && `serial ${serial}`,
  ];
  return parts.filter((part) => part).join(", ");
}

/** Some vendors put their name into the model, too. Empty if neither is known. */
export function vendorAndModel(vendor: string | undefined, model: string | undefined): string {
  const maker = vendor !== undefined && model?.startsWith(vendor) ? undefined : vendor;
  return [maker, model].filter((part) => part !== undefined).join(" ");
}

/** BMCs still answer for a while after a reset: until one was silent, it may not have restarted yet. */
const GOES_AWAY_MS = 60_000;
const WATCH_MS = 1_000;
const WAIT_MS = 2_000;
/** One look that fails may have another reason: a lost packet, a gateway. */
const SILENT_LOOKS = 2;
/** A BMC that takes no connection for so long is away, as one look shows; what is lost on the way fails sooner or later. */
const SILENT_MS = 1_000;

/**
 * Restarts the BMC and waits until it was silent and answers again, for `timeoutMs` at most. Another provider that
 * answers sooner does not count. The reset is never sent twice: when it is refused or its answer is lost, only a BMC that
 * goes away has taken it, and only one that never goes away has proved that it has not. A warm reset may be over without a moment's silence, which the summary then says.
 */
export async function resetManager(
  port: ManagerPort,
  kind: BmcResetKind,
  timeoutMs: number,
): Promise<ManagerResetReport> {
  const startedMs = port.clock.monotonicMs();
  const elapsedMs = () => port.clock.monotonicMs() - startedMs;
  const leftMs = (limitMs: number) => Math.max(0, limitMs - elapsedMs());
  // A BMC that restarts at once loses its answer.
  const lost = await uncertainty(port.reset);
  port.onSent();
  const watchMs = Math.min(GOES_AWAY_MS, timeoutMs);
  let silence: BmcError | undefined;
  let silentLooks = 0;
  let isAway = false;
  port.progress("reset sent, waiting until the BMC is silent", leftMs(watchMs));
  for (let pauseMs = WATCH_MS; leftMs(silence ? timeoutMs : watchMs) > 0; ) {
    await port.sleep(Math.min(pauseMs, leftMs(timeoutMs)));
    // The last probe is sent when the time has expired.
    const lookedMs = elapsedMs();
    const failure = await silenceOf(() => port.probe(Math.max(WATCH_MS, leftMs(timeoutMs))));
    const isSilent = failure?.class === "unreachable" && elapsedMs() - lookedMs >= SILENT_MS;
    if (!failure && silentLooks >= SILENT_LOOKS) {
      const after = formatSeconds(elapsedMs());
      return { changed: true, summary: `BMC reset (${kind}), answers again after ${after}` };
    }
    silence = failure;
    silentLooks = failure ? silentLooks + (isSilent ? SILENT_LOOKS : 1) : 0;
    pauseMs = silentLooks >= SILENT_LOOKS ? WAIT_MS : WATCH_MS;
    const refused = failure ? undefined : await port.work?.failure("the reset of the BMC");
    if (refused) throw refused;
    if (!isAway && silentLooks >= SILENT_LOOKS) {
      isAway = true;
      port.progress("waiting until the BMC answers again", leftMs(timeoutMs));
    }
  }
  if (silence) {
    const text = `the BMC did not answer within ${formatSeconds(timeoutMs)} of its reset`;
    throw new BmcError("timeout", `${text}: ${silence.message}`, { cause: silence });
  }
  return neverSilent(port, kind, { lost, watchMs });
}

/** Why the BMC does not answer; undefined when it does. */
async function silenceOf(probe: () => Promise<unknown>): Promise<BmcError | undefined> {
  try {
    await probe();
    return undefined;
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (!isFinal(error)) return error;
    if (error.class === "cancelled") throw error;
    throw new BmcError(error.class, `after the reset of the BMC: ${error.message}`, { cause: error });
  }
}

function neverSilent(
  port: Pick<ManagerPort, "disprove">,
  kind: BmcResetKind,
  { lost, watchMs }: { readonly lost: BmcError | undefined; readonly watchMs: number },
): ManagerResetReport {
  const seen = `it did not become unreachable within ${formatSeconds(watchMs)}`;
  if (lost?.class === "unsupported" && kind === "cold" && watchMs === GOES_AWAY_MS) {
    port.disprove?.();
    throw new BmcError("unsupported", `${lost.message}; ${seen}`, { cause: lost });
  }
  if (lost) {
    const text = `${lost.message}; the BMC may have been reset, ${seen}: not sent again`;
    const errorClass = lost.class === "unreachable" ? "timeout" : lost.class;
    throw new BmcError(errorClass, text, { cause: lost, uncertain: true });
  }
  if (watchMs < GOES_AWAY_MS) throw new BmcError("timeout", `the BMC accepted the reset, but ${seen}`);
  if (kind === "cold") throw new BmcError("verify", `the BMC accepted the cold reset, but ${seen}`);
  return { changed: true, summary: `BMC reset (${kind}) accepted; ${seen}, and it answers` };
}
