import type { BmcClient } from "../../shared/bmc/client.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { DesiredState } from "../../shared/contract/desired-state.ts";
import type { ErrorClass } from "../../shared/contract/error-class.ts";
import { biosValuesOf, CORRECTION_ORDER, updateOf } from "../../worker/features/drift/next-correction.ts";
import type { Difference, Setting } from "../../worker/features/shared/drift-seen.ts";

/** What became of a difference. */
export interface Correction {
  readonly state: "corrected" | "failed" | "skipped";
  /** How it went, or why nothing was sent. */
  readonly message: string;
  /** Of a failure. */
  readonly class?: ErrorClass;
}

/** Failures that say nothing about the next setting. */
const OF_ONE_SETTING: readonly ErrorClass[] = ["usage", "unsupported", "verify", "state", "bmc"];
/** As the power actions have them. */
const STATE_TIMEOUT_MS = 120_000;
const SOFT_TIMEOUT_MS = 60_000;
/** As `update-firmware` has them. */
const UPDATE_LIMITS = { updateMs: 60 * 60_000, verifyMs: 10 * 60_000 };
const NO_IMAGE = "needs an image: name one, or use update-firmware";

/**
 * Corrects each setting that differs once; the operations verify what they did. Resolves to what became of each difference, by
 * field. Never rejects.
 */
export async function correct(
  bmc: BmcClient,
  desired: DesiredState,
  differences: readonly Difference[],
  {
    signal,
    onSetting,
  }: {
    readonly signal: AbortSignal;
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
      onSetting(setting);
      return correctOne(() => send(bmc, desired, { setting, different }, signal));
    })();
    for (const { field } of different) corrections.set(field, correction);
    if (correction.class === undefined) continue;
    failed = setting;
    isOver = signal.aborted || !OF_ONE_SETTING.includes(correction.class);
  }
  return corrections;
}

/** What is corrected at once: all of a setting, but one component of the firmware. */
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

async function correctOne(operation: () => Promise<{ readonly summary: string }>): Promise<Correction> {
  try {
    return { state: "corrected", message: (await operation()).summary };
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
): Promise<{ readonly summary: string }> {
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
  if (power === "on") return bmc.setPower({ verb: "on", timeoutMs }, signal);
  const off = { verb: "off", mode: "soft-then-hard", softTimeoutMs: SOFT_TIMEOUT_MS, timeoutMs } as const;
  if (power === "off") return bmc.setPower(off, signal);
  throw new BmcError("internal", `${setting} cannot be corrected`);
}
