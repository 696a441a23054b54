import type { BmcClient } from "../../shared/bmc/client.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { DesiredState } from "../../shared/contract/desired-state.ts";
import type { ErrorClass } from "../../shared/contract/error-class.ts";
import type { LimitedStart } from "../../worker/core/queue/start-limits.ts";
import { reasonToStayOff } from "../../worker/features/drift/compare.ts";
import { biosValuesOf, CORRECTION_ORDER, updateOf } from "../../worker/features/drift/next-correction.ts";
import type { Difference, Setting } from "../../worker/features/shared/drift-seen.ts";

/** The result of correcting a difference. */
export interface Correction {
  /** `pending`: sent, and takes effect at the machine's next boot. */
  readonly state: "corrected" | "pending" | "failed" | "skipped";
  /** What was done, or why nothing was sent. */
  readonly message: string;
  /** The class of the error if the correction failed. */
  readonly class?: ErrorClass;
}

/** Failures of one setting, after which the next setting may still succeed. */
const OF_ONE_SETTING: readonly ErrorClass[] = ["usage", "unsupported", "verify", "state", "bmc"];
/** The defaults of the power actions. */
const STATE_TIMEOUT_MS = 120_000;
const SOFT_TIMEOUT_MS = 60_000;
/** The defaults of `update-firmware`. */
const UPDATE_LIMITS = { updateMs: 60 * 60_000, verifyMs: 10 * 60_000 };
const NO_IMAGE = "needs an image: name one, or use update-firmware";

/**
 * Corrects each setting that differs once; the operations verify what they did. Resolves to the result for each difference,
 * by field. Only a second reading of the machine shows whether a difference is corrected (`confirmed`). Never rejects.
 */
export async function correct(
  bmc: BmcClient,
  desired: DesiredState,
  differences: readonly Difference[],
  {
    signal,
    onSetting,
    limited,
  }: {
    readonly signal: AbortSignal;
    /** Waits until the inventory's limits let an action of this name start. */
    readonly limited: (action: string, signal: AbortSignal) => Promise<LimitedStart>;
    /** Called before a setting is corrected. */
    readonly onSetting: (setting: Setting) => void;
  },
): Promise<ReadonlyMap<string, Correction>> {
  const corrections = new Map<string, Correction>();
  let failed: Setting | undefined;
  let isOver = false;
  for (const { setting, different } of stepsOf(differences)) {
    const correction = await (async () => {
      if (setting === "firmware" && !updatesOf(desired, different))
        return skipped(different[0]?.reason ?? NO_IMAGE);
      if (isOver || (failed && setting === "power")) {
        return skipped(`nothing was sent, because ${failed} failed`);
      }
      if (setting === "power" && different[0]?.reason !== undefined) return skipped(different[0].reason);
      return correctOne(async () => {
        const start = await limited(ACTIONS[setting] ?? `power-${desired.power}`, signal);
        try {
          start.started();
          onSetting(setting);
          return await send(bmc, desired, { setting, different }, signal);
        } finally {
          start.release();
        }
      });
    })();
    for (const { field } of different) corrections.set(field, correction);
    if (correction.class === undefined) continue;
    failed = setting;
    isOver = signal.aborted || !OF_ONE_SETTING.includes(correction.class);
  }
  return corrections;
}

/** The action that does the same as a correction; power has one for each state. */
const ACTIONS: Readonly<Record<Setting, string | undefined>> = {
  bootDevice: "set-boot-device",
  ntp: "set-ntp",
  bios: "set-bios",
  firmware: "update-firmware",
  power: undefined,
};

/** Groups the differences that are corrected together: all of a setting, but only one component of the firmware. */
function stepsOf(differences: readonly Difference[]) {
  return CORRECTION_ORDER.flatMap((setting) => {
    const different = differences.filter((one) => one.setting === setting && one.state === "different");
    const parts = setting === "firmware" ? different.map((one) => [one]) : [different];
    return parts.filter(({ length }) => length > 0).map((each) => ({ setting, different: each }));
  });
}

function updatesOf(desired: DesiredState, [first]: readonly Difference[]) {
  return first && updateOf(desired, first);
}

function skipped(message: string): Correction {
  return { state: "skipped", message };
}

/** The report of an operation, or why nothing was sent. */
type Sent = { readonly summary: string; readonly pending?: boolean } | { readonly skipped: string };

async function correctOne(operation: () => Promise<Sent>): Promise<Correction> {
  try {
    const sent = await operation();
    if ("skipped" in sent) return skipped(sent.skipped);
    return { state: sent.pending ? "pending" : "corrected", message: sent.summary };
  } catch (thrown) {
    const { class: errorClass, message } = BmcError.from(thrown);
    return { state: "failed", message, class: errorClass };
  }
}

async function send(
  bmc: BmcClient,
  desired: DesiredState,
  { setting, different }: { readonly setting: Setting; readonly different: readonly Difference[] },
  signal: AbortSignal,
): Promise<Sent> {
  const { bootDevice, ntp, power } = desired;
  const timeoutMs = STATE_TIMEOUT_MS;
  if (setting === "bootDevice" && bootDevice) {
    return bmc.setBoot({ device: bootDevice, persistent: true, mode: "keep" }, signal);
  }
  if (setting === "ntp" && ntp) return bmc.setNtp({ enabled: true, servers: ntp }, signal);
  if (setting === "bios") {
    return bmc.setBios({ values: biosValuesOf(different), applyTime: "on-reset" }, signal);
  }
  const update = setting === "firmware" && updatesOf(desired, different);
  if (update) {
    const { targets, uri, version } = update;
    const request = { image: { uri }, targets, version, allowDowngrade: false };
    return bmc.updateFirmware(request, UPDATE_LIMITS, signal, () => undefined);
  }
  if (power === "on") {
    // Checked again, because the other corrections took time.
    const reason = await reasonNow(bmc, signal);
    if (reason !== undefined) return { skipped: reason };
    return bmc.setPower({ verb: "on", timeoutMs }, signal);
  }
  const off = { verb: "off", mode: "soft-then-hard", softTimeoutMs: SOFT_TIMEOUT_MS, timeoutMs } as const;
  if (power === "off") return bmc.setPower(off, signal);
  throw new BmcError("internal", `${setting} cannot be corrected`);
}

async function reasonNow(bmc: BmcClient, signal: AbortSignal): Promise<string | undefined> {
  try {
    return reasonToStayOff(await bmc.getBoot(signal));
  } catch (thrown) {
    if (BmcError.from(thrown).class !== "unsupported") throw thrown;
    return undefined;
  }
}

/** Checks a correction against a second reading of the machine. `now` is undefined if the setting could not be read again. */
export function confirmed(correction: Correction, now: Difference | undefined): Correction {
  const { message, state } = correction;
  if (state !== "corrected" && state !== "pending") return correction;
  if (now?.state === "same") return { state: "corrected", message };
  if (now?.state === "pending" || (now && state === "pending")) return { state: "pending", message };
  const has = now
    ? `the second reading shows ${String(now.actual ?? now.reason)}`
    : "it could not be read again";
  return { state: "failed", class: "verify", message: `${message}; ${has}` };
}
