import type { BmcClient } from "../../shared/bmc/client.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { DesiredState } from "../../shared/contract/desired-state.ts";
import type { ErrorClass } from "../../shared/contract/error-class.ts";
import type { Difference, Setting } from "../../worker/action/drift-seen.ts";
import { biosValuesOf, CORRECTION_ORDER } from "../../worker/drift/next-correction.ts";

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

/** Corrects each setting that differs once; the operations verify what they did. Never rejects. */
export async function correct(
  bmc: BmcClient,
  desired: DesiredState,
  differences: readonly Difference[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Setting, Correction>> {
  const corrections = new Map<Setting, Correction>();
  let failed: Setting | undefined;
  let isOver = false;
  for (const setting of CORRECTION_ORDER) {
    const different = differences.filter((one) => one.setting === setting && one.state === "different");
    if (different.length === 0) continue;
    if (setting === "firmware") {
      corrections.set(setting, skipped("needs an image: use update-firmware"));
    } else if (isOver || (failed && setting === "power")) {
      corrections.set(setting, skipped(`nothing was sent, because ${failed} failed`));
    } else {
      const correction = await correctOne(() => send(bmc, desired, { setting, different }, signal));
      corrections.set(setting, correction);
      if (correction.class === undefined) continue;
      failed = setting;
      isOver = signal.aborted || !OF_ONE_SETTING.includes(correction.class);
    }
  }
  return corrections;
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
  { bootDevice, ntp, power }: DesiredState,
  { setting, different }: { readonly setting: Setting; readonly different: readonly Difference[] },
  signal: AbortSignal,
): Promise<{ readonly summary: string }> {
  const timeoutMs = STATE_TIMEOUT_MS;
  if (setting === "bootDevice" && bootDevice) {
    return bmc.setBoot({ device: bootDevice, persistent: true, mode: "keep" }, signal);
  }
  if (setting === "ntp" && ntp) return bmc.setNtp({ enabled: true, servers: ntp }, signal);
  if (setting === "bios") {
    return bmc.setBios({ values: biosValuesOf(different), applyTime: "on-reset" }, signal);
  }
  if (power === "on") return bmc.setPower({ verb: "on", timeoutMs }, signal);
  const off = { verb: "off", mode: "soft-then-hard", softTimeoutMs: SOFT_TIMEOUT_MS, timeoutMs } as const;
  if (power === "off") return bmc.setPower(off, signal);
  throw new BmcError("internal", `${setting} cannot be corrected`);
}
