import { isBiosPassword } from "../../contract/bios-attributes.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import { count } from "../../count.ts";
import { formatSeconds } from "../../duration.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Patience, type Plan, type Run } from "./access.ts";
import { attributeValue, type BiosAttributes, type BiosRegistry } from "./bios-registry.ts";
import { checkBiosValues } from "./bios-values.ts";
import { ok } from "./finding.ts";
import { BackgroundWork } from "./follow-task.ts";
import type { PxeSwitch } from "./network-boot-attributes.ts";
import { type NicPxeReport, planNicPxe, setNicPxe } from "./nic-pxe.ts";
import { ChangeFailed, sendOnce, writeSetting } from "./read-back.ts";

/** The BIOS attributes of a machine, without passwords. */
export interface BiosState {
  /** The values in effect since the last boot. */
  readonly attributes: BiosAttributes;
  /** The attributes that the next boot changes, with their new values. */
  readonly pending: BiosAttributes;
  /** The BMC's name of the registry that describes the attributes; absent if it names none. */
  readonly registry?: string;
  /** False if there is no job that applies `pending` at the next boot; otherwise absent. */
  readonly scheduled?: false;
}

/** When changes take effect: at the next boot, or at once if the BMC supports that. */
export type BiosApplyTime = "on-reset" | "immediate";

/** The BIOS's result for the settings that it last received. */
export interface BiosOutcome {
  /** The time of the result in the BMC's format. */
  readonly time?: string;
  /** What the BIOS did not accept, and why. */
  readonly problem?: string;
}

/** The state that a driver reads. */
type BiosReading = Omit<BiosState, "scheduled"> & {
  readonly outcome?: BiosOutcome;
  /** False if the next boot ignores `pending`, because there is no job to apply it. */
  readonly scheduled?: boolean;
};

export interface BiosDriver {
  read(signal: AbortSignal): Promise<BiosReading>;
  /** Whether a boot is currently applying values, which the BMC may show before they are in effect. */
  isApplying(signal: AbortSignal): Promise<boolean>;
  /**
   * Reads the registry with this name, which is from `read`. Resolves to undefined if the BMC offers no registry that can be
   * read.
   */
  registry(name: string | undefined, signal: AbortSignal): Promise<BiosRegistry | undefined>;
  /** Throws `unsupported` if the BMC does not offer the time. */
  plan(values: BiosAttributes, time: BiosApplyTime, signal: AbortSignal): Promise<readonly string[]>;
  write(values: BiosAttributes, time: BiosApplyTime, signal: AbortSignal): Promise<void>;
  planReset(signal: AbortSignal): Promise<string>;
  reset(signal: AbortSignal): Promise<void>;
}

/** A request to set BIOS attributes. */
export interface BiosRequest {
  /** The values by name. Text is converted to the attribute's type. */
  readonly values: BiosAttributes;
  /** When they take effect. */
  readonly applyTime: BiosApplyTime;
  /** How long to wait until the values are in effect. If absent, does not wait. */
  readonly waitMs?: number;
}

/** The result of setting BIOS attributes. */
export interface BiosReport {
  /** The requested attributes before the change. */
  readonly before: BiosState;
  /** The requested attributes as read back. */
  readonly after: BiosState;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** Whether a registry was available to check the values. */
  readonly validated: boolean;
  /** The result in one line for display. */
  readonly summary: string;
}

/** The result of resetting the BIOS. */
export interface BiosResetReport {
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** The result in one line for display. */
  readonly summary: string;
}

export type BiosDrivers = { readonly bios: BiosDriver };

export const biosOperations = defineOperations({
  title: "BIOS attributes",
  methods: (run: Run<BiosDrivers>) => ({
    /** Reads the BIOS attributes, and those that take effect at the next boot. */
    getBios: (signal: AbortSignal = neverAborted()): Promise<BiosState> =>
      run(signal, async (access) => shown(await portOf(access, signal).read())),

    /**
     * Checks the values against the BMC's attribute registry, sets them for the next boot, and reads them back. With `waitMs`,
     * waits until they are in effect. Throws `usage` with all problems before anything is sent.
     */
    setBios: (request: BiosRequest, signal: AbortSignal = neverAborted()): Promise<BiosReport> =>
      run(signal, (access) => setBiosValues(access, request, signal)),

    /** Returns what `setBios` would send. */
    planBios: (request: BiosRequest, signal: AbortSignal = neverAborted()): Promise<Plan<BiosState>> =>
      run(signal, (access) => planBiosValues(access, request, signal)),

    /**
     * Enables or disables PXE of a network interface from the next boot on, with the vendor's BIOS attributes, and reads
     * them back.
     */
    setNicPxe: (
      name: string,
      enabled: boolean,
      signal: AbortSignal = neverAborted(),
    ): Promise<NicPxeReport> =>
      run(signal, (access) => {
        const set = (values: BiosChange["values"]) => setBiosValues(access, nextBoot(values), signal);
        return setNicPxe(set, name, enabled);
      }),

    /** Returns what `setNicPxe` would send. */
    planNicPxe: (
      name: string,
      enabled: boolean,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<readonly PxeSwitch[]>> =>
      run(signal, (access) => {
        const plan = (values: BiosChange["values"]) => planBiosValues(access, nextBoot(values), signal);
        return planNicPxe(plan, name, enabled);
      }),

    /** Resets all BIOS attributes to the vendor's defaults once. Takes effect at the next boot. */
    resetBios: (signal: AbortSignal = neverAborted()): Promise<BiosResetReport> =>
      run(signal, (access) => resetBios(portOf(access, signal))),

    /** Returns what `resetBios` would send. */
    planBiosReset: (signal: AbortSignal = neverAborted()): Promise<Plan<undefined>> =>
      run(signal, async (access) => ({
        before: undefined,
        steps: [await portOf(access, signal).planReset()],
      })),
  }),
  check: async (access, signal) => ok(describeBios(await portOf(access, signal).read())),
});

/** The BIOS operations of one machine, with retries. */
type BiosPort = ReturnType<typeof portOf>;

function portOf(access: Access<BiosDrivers>, signal: AbortSignal) {
  const { clock, read, look, sleep, progress } = access;
  const work = new BackgroundWork(access, signal);
  return {
    clock,
    read: () => read(({ bios }) => bios.read(signal)),
    lookAt: (values: BiosAttributes) =>
      look(async ({ bios }): Promise<BiosSight> => {
        const state = await bios.read(signal);
        const inEffect = isInEffect(state, values);
        return { state, inEffect, isApplying: inEffect && (await bios.isApplying(signal)) };
      }),
    isApplying: () => read(({ bios }) => bios.isApplying(signal)),
    registry: (name: string | undefined) => read(({ bios }) => bios.registry(name, signal)),
    plan: (values: BiosAttributes, time: BiosApplyTime) =>
      read(({ bios }) => bios.plan(values, time, signal)),
    write: (values: BiosAttributes, time: BiosApplyTime, patience?: Patience) =>
      work.start(({ bios }) => bios.write(values, time, signal), patience),
    planReset: () => read(({ bios }) => bios.planReset(signal)),
    reset: () => work.start(({ bios }) => bios.reset(signal)),
    /** The job or task that the last request left running. */
    work,
    sleep,
    progress,
  };
}

/** How long a task may run before it counts as waiting for a boot. */
const ACCEPTED_MS = 10_000;

interface BiosSight {
  readonly state: BiosReading;
  readonly inEffect: boolean;
  /** Whether the BMC shows the values although the boot that applies them has not ended. */
  readonly isApplying: boolean;
}

/** The delay of the first poll, for a machine that has just booted. A boot takes minutes. */
const FIRST_POLL_MS = 1_000;
const LONGEST_POLL_MS = 15_000;

async function prepare(port: BiosPort, { values: asked, ...others }: BiosChange) {
  const before = await port.read();
  const next = nextOf(before);
  const wanted = typeof asked === "function" ? asked(next) : asked;
  const registry = await port.registry(before.registry);
  const values = checkBiosValues(wanted, next, registry, before.attributes);
  const request: BiosRequest = { ...others, values };
  return { before, values, request, validated: registry !== undefined };
}

/** A request with values that may depend on what the next boot would otherwise set. */
export type BiosChange = Omit<BiosRequest, "values"> & {
  readonly values: BiosAttributes | ((next: BiosAttributes) => BiosAttributes);
};

const nextBoot = (values: BiosChange["values"]): BiosChange => ({ values, applyTime: "on-reset" });

/** Returns the BIOS attributes from the next boot on. */
export async function nextBiosValues(
  access: Access<BiosDrivers>,
  signal: AbortSignal,
): Promise<BiosAttributes> {
  return nextOf(await portOf(access, signal).read());
}

export async function planBiosValues(
  access: Access<BiosDrivers>,
  change: BiosChange,
  signal: AbortSignal,
): Promise<Plan<BiosState>> {
  const port = portOf(access, signal);
  const { before, values, request } = await prepare(port, change);
  const steps = isSet(before, values, request) ? [] : await port.plan(values, request.applyTime);
  return { before: shown(before, values), steps };
}

export async function setBiosValues(
  access: Access<BiosDrivers>,
  change: BiosChange,
  signal: AbortSignal,
): Promise<BiosReport> {
  const port = portOf(access, signal);
  const { before, values, validated, request } = await prepare(port, change);
  const changed = !isSet(before, values, request);
  const after = changed ? await writeValues(port, values, request) : before;
  if (request.waitMs !== undefined) {
    return reportOf({
      before,
      after: await awaitEffect(port, values, request.waitMs, before),
      values,
      changed,
      validated,
    });
  }
  const isApplying = isInEffect(after, values) && (await port.isApplying());
  return reportOf({ before, after, values, changed, validated, isApplying });
}

/** Writes the values. The settings may show them although the job that should apply them has failed. */
async function writeValues(
  port: BiosPort,
  values: BiosAttributes,
  request: BiosRequest,
): Promise<BiosReading> {
  const what = `the change of ${describeValues(values)}`;
  try {
    const after = await writeSetting(
      { ...port, write: (patience) => port.write(values, request.applyTime, patience) },
      {
        asked: describeValues(values),
        isSet: (state) => isSet(state, values, request),
        describe: (state) => describeNotSet(state, values, request),
      },
    );
    const failure = await port.work.failure(what);
    if (failure) throw failure;
    return after;
  } catch (thrown) {
    const error = BmcError.from(thrown);
    const failure = error.class === "verify" ? await port.work.failure(what) : undefined;
    if (!failure) throw thrown;
    throw new ChangeFailed(`${failure.message}; ${error.message}`, error);
  }
}

interface SetBios {
  readonly before: BiosReading;
  readonly after: BiosReading;
  readonly values: BiosAttributes;
  readonly changed: boolean;
  readonly validated: boolean;
  /** Whether the boot that applies the values has not ended. */
  readonly isApplying?: boolean;
}

function reportOf({ before, after, values, changed, validated, isApplying }: SetBios): BiosReport {
  const effect = isApplying
    ? ", shown by the BMC, but the job that applies BIOS attributes is still running"
    : !isInEffect(after, values)
      ? ", in effect after the next boot"
      : changed
        ? ", in effect"
        : "";
  const already = changed || isApplying ? "" : "already ";
  const unchecked = validated ? "" : " (not checked: the BMC offers no attribute registry that can be read)";
  const summary = `${already}${describeValues(values)}${effect}${unchecked}`;
  return { before: shown(before, values), after: shown(after, values), changed, validated, summary };
}

function isInEffect({ attributes }: BiosReading, values: BiosAttributes): boolean {
  return missing(attributes, values).length === 0;
}

function isSet(state: BiosReading, values: BiosAttributes, { applyTime }: BiosRequest): boolean {
  if (missing(state.attributes, values).length === 0 && missing(nextOf(state), values).length === 0)
    return true;
  if (applyTime === "immediate" || state.scheduled === false) return false;
  return missing(nextOf(state), values).length === 0;
}

function describeNotSet(state: BiosReading, values: BiosAttributes, { applyTime }: BiosRequest): string {
  const kept = applyTime === "immediate" ? state.attributes : nextOf(state);
  const names = missing(kept, values);
  return names.length === 0
    ? "the BIOS attributes, but has no job that applies them"
    : describeKept(kept, names);
}

/** Returns the values of the BIOS from the next boot on. */
function nextOf({ attributes, pending }: BiosReading): BiosAttributes {
  return { ...attributes, ...pending };
}

/** Returns the names of requested attributes that have another value. */
function missing(attributes: BiosAttributes, values: BiosAttributes): readonly string[] {
  return Object.keys(values).filter((name) => attributeValue(attributes, name) !== values[name]);
}

async function awaitEffect(
  port: BiosPort,
  values: BiosAttributes,
  waitMs: number,
  before: BiosReading,
): Promise<BiosReading> {
  const endMs = port.clock.monotonicMs() + waitMs;
  port.progress("waiting for the boot that applies the BIOS attributes", waitMs);
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_POLL_MS)) {
    const seen = await port.lookAt(values);
    const leftMs = endMs - port.clock.monotonicMs();
    if (seen instanceof BmcError) {
      // BMCs are busy, silent or inconsistent while the machine boots.
      if (leftMs <= 0) throw notReadable(seen, waitMs);
      await port.sleep(Math.min(pauseMs, leftMs));
      continue;
    }
    const { state, inEffect, isApplying } = seen;
    if (inEffect && !isApplying) return state;
    const has = isApplying
      ? "the BMC's job that applies them is still running"
      : `the BIOS has ${describeKept(state.attributes, missing(state.attributes, values))}`;
    const isDropped = missing(nextOf(state), values).length > 0;
    const failure = await port.work.failure("their job");
    const problem = failure?.message ?? (isDropped ? newProblem(before, state) : undefined);
    if (problem !== undefined) {
      throw new BmcError("verify", `the boot did not apply the BIOS attributes: ${problem}; ${has}`);
    }
    if (leftMs <= 0) {
      const said = state.outcome?.problem;
      const words = said === undefined ? "" : `, the BIOS says: ${said}`;
      const dropped = isDropped ? `; nothing is pending any more${words}` : "";
      throw new BmcError("verify", `not in effect after ${formatSeconds(waitMs)}: ${has}${dropped}`);
    }
    await port.sleep(Math.min(pauseMs, leftMs));
  }
}

function notReadable(cause: BmcError, waitMs: number): BmcError {
  const message = `whether the BIOS attributes are in effect is not known after ${formatSeconds(waitMs)}: ${cause.message}`;
  return new BmcError("timeout", message, { cause, uncertain: true });
}

/** Returns the BIOS's problem with the settings, unless it is about earlier settings. */
function newProblem({ outcome: before }: BiosReading, { outcome: now }: BiosReading): string | undefined {
  const isOld = before?.time === now?.time && before?.problem === now?.problem;
  return isOld ? undefined : now?.problem;
}

async function resetBios(port: BiosPort): Promise<BiosResetReport> {
  await sendOnce(port.reset, "the BIOS may have been reset");
  await port.work.staged("reset of the BIOS", ACCEPTED_MS);
  return {
    changed: true,
    summary: "reset of the BIOS to its defaults accepted, in effect after the next boot",
  };
}

/** Returns attributes without passwords, and only those in `values` if it is given. */
function shown(
  { attributes, pending, registry, scheduled }: BiosReading,
  values?: BiosAttributes,
): BiosState {
  const pick = (from: BiosAttributes) =>
    Object.fromEntries(
      Object.entries(from).filter(
        ([name]) => !isBiosPassword(name) && (!values || Object.hasOwn(values, name)),
      ),
    );
  return {
    attributes: pick(attributes),
    pending: pick(pending),
    ...(registry === undefined ? {} : { registry }),
    ...(scheduled === false ? { scheduled } : {}),
  };
}

function describeValues(values: BiosAttributes): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

function describeKept(attributes: BiosAttributes, names: readonly string[]): string {
  return names.map((name) => `${name}=${attributeValue(attributes, name) ?? "(none)"}`).join(", ");
}

/** Describes the attributes: `312 BIOS attributes, 2 pending`. */
export function describeBios({ attributes, pending }: Omit<BiosState, "scheduled">): string {
  const waiting = Object.keys(pending).length;
  return `${count(Object.keys(attributes).length, "BIOS attribute", "BIOS attributes")}${waiting === 0 ? "" : `, ${waiting} pending`}`;
}
