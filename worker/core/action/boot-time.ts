import { readFileSync } from "node:fs";

/**
 * A point in time since the host booted. Unlike the wall clock it cannot be set. Processes on the same host can compare boot
 * times until it reboots.
 */
export interface BootTime {
  /** The kernel's ID of the boot. */
  readonly boot: string;
  readonly ms: number;
}

const BOOT_ID = readBootId();

/** The current boot time; undefined if the kernel has no boot ID, which only Linux has. */
export function bootTime(): BootTime | undefined {
  // hrtime is CLOCK_MONOTONIC, which all processes share; `performance.now` starts with each process.
  return BOOT_ID === undefined
    ? undefined
    : { boot: BOOT_ID, ms: Number(process.hrtime.bigint() / 1_000_000n) };
}

function readBootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}

/** The boot time `ms` from now, as text. */
export function bootTimeIn(ms: number): string | undefined {
  const now = bootTime();
  return now && bootTimeText({ ...now, ms: now.ms + ms });
}

/** Formats a boot time as `<boot>+<milliseconds>`, for labels, variables and the journal. */
export function bootTimeText({ boot, ms }: BootTime): string {
  return `${boot}+${Math.round(ms)}`;
}

export function parseBootTime(text: string | undefined): BootTime | undefined {
  const [, boot, ms] = /^([0-9a-f-]{36})\+(\d{1,15})$/.exec(text ?? "") ?? [];
  return boot === undefined ? undefined : { boot, ms: Number(ms) };
}

/** Milliseconds between two boot times; undefined if the host rebooted in between, or if one of them is unknown. */
export function msBetween(earlier: BootTime | undefined, later: BootTime | undefined): number | undefined {
  return earlier && later && earlier.boot === later.boot ? later.ms - earlier.ms : undefined;
}
