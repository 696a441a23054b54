import type { Clock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import type { BootOverride, BootRequest, Unverified } from "../provider.ts";

export interface BootReport {
  /** As read back; its device is `unknown` where that is not possible. */
  readonly after: BootOverride;
  /** Whether anything was sent. */
  readonly changed: boolean;
  readonly summary: string;
}

/** The boot override of one machine with retries in place; what `setBoot` needs and no more. */
export interface BootPort {
  readonly clock: Clock;
  /** What a write is worth where it cannot be read back. */
  unverified(): Promise<Unverified | undefined>;
  read(): Promise<BootOverride>;
  write(request: BootRequest): Promise<void>;
  sleep(ms: number): Promise<void>;
}

/** What stands for the override of a provider that cannot read one. */
export const UNREAD_OVERRIDE: BootOverride = { device: "unknown" };

/** Some BMCs answer the write before a read shows it. */
const READ_BACK_DELAYS_MS = [0, 500, 2_000] as const;

/**
 * Sets the override and reads it back. What the BMC says about the write does not decide: some apply it and
 * answer 400, some answer 200 and keep something else (bmclib issue 459).
 */
export async function setBoot(port: BootPort, request: BootRequest): Promise<BootReport> {
  const unverified = await port.unverified();
  if (unverified) return setUnverified(port, request, unverified);
  const refusal = await attempt(port, request);
  let stored = await readBack(port, request);
  if (!matches(request, stored) && refusal?.uncertain) {
    // The answer was lost and so, it seems, was the write; writing the same override again is harmless.
    const again = await attempt(port, request);
    if (again) throw again;
    stored = await readBack(port, request);
  } else if (!matches(request, stored) && refusal) throw refusal;
  if (!matches(request, stored)) {
    throw new BmcError(
      "verify",
      `asked for ${describeRequest(request)}, the BMC keeps ${describeOverride(stored)}`,
    );
  }
  return { after: stored, changed: true, summary: `boot ${describeOverride(stored)}` };
}

/** Where nothing can be read back the acceptance is all there is, and the summary says no more than that. */
async function setUnverified(port: BootPort, request: BootRequest, worth: Unverified): Promise<BootReport> {
  const asked = `boot ${describeRequest(request)}`;
  const refusal = await attempt(port, request);
  // Writing the same override again is harmless, and an answer is the only thing there is to go by.
  const again = refusal?.uncertain ? await attempt(port, request) : refusal;
  if (again) throw again;
  const changed = worth === "accepted";
  const summary = changed
    ? `${asked} accepted, cannot be read back`
    : `${asked} ignored, there is nothing to set`;
  return { after: UNREAD_OVERRIDE, changed, summary };
}

/** Writes once. A refusal is returned, because the read-back decides; what makes that pointless is thrown. */
async function attempt(port: BootPort, request: BootRequest): Promise<BmcError | undefined> {
  try {
    await port.write(request);
    return undefined;
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (["auth", "cancelled", "internal", "tls", "unsupported", "usage"].includes(error.class)) throw error;
    return error;
  }
}

async function readBack(port: BootPort, request: BootRequest): Promise<BootOverride> {
  let stored: BootOverride = { device: "unknown" };
  for (const delayMs of READ_BACK_DELAYS_MS) {
    if (delayMs > 0) await port.sleep(delayMs);
    stored = await port.read();
    if (matches(request, stored)) break;
  }
  return stored;
}

/** Whether what the BMC reports is what was asked; a field that it does not report is not held against it. */
export function matches(request: BootRequest, stored: BootOverride): boolean {
  if (stored.device !== request.device) return false;
  if (request.device === "none") return true;
  if (stored.persistent !== undefined && stored.persistent !== request.persistent) return false;
  return request.mode === "keep" || stored.mode === undefined || stored.mode === request.mode;
}

export function describeRequest({ device, persistent, mode }: BootRequest): string {
  return describe(device, persistent, mode === "keep" ? undefined : mode);
}

/** For people: `pxe once (uefi)`, `disk persistent`, `none`. */
export function describeOverride({ device, persistent, mode }: BootOverride): string {
  return describe(device, persistent, mode);
}

function describe(device: string, persistent: boolean | undefined, mode: string | undefined): string {
  if (device === "none") return "none";
  const lasting = persistent === undefined ? "" : persistent ? " persistent" : " once";
  return `${device}${lasting}${mode ? ` (${mode})` : ""}`;
}
