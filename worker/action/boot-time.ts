import { readFileSync } from "node:fs";

/**
 * A point in the time since the machine started, which nobody sets, unlike the wall clock. Two of them can be compared
 * by any process of the same machine, until it starts anew.
 */
export interface BootTime {
  /** Which start of the machine, as the kernel names it. */
  readonly boot: string;
  readonly ms: number;
}

const BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id";

/** The same for as long as a process lives. */
const BOOT_ID = readBootId();

/** Undefined where the kernel does not name its start (anywhere but on Linux). */
export function bootTime(): BootTime | undefined {
  // hrtime is CLOCK_MONOTONIC as it is, which all processes share; `performance.now` begins with each process.
  return BOOT_ID === undefined
    ? undefined
    : { boot: BOOT_ID, ms: Number(process.hrtime.bigint() / 1_000_000n) };
}

function readBootId(): string | undefined {
  try {
    return readFileSync(BOOT_ID_FILE, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** The point that is so many milliseconds from now. */
export function bootTimeIn(ms: number): BootTime | undefined {
  const now = bootTime();
  return now && { ...now, ms: now.ms + ms };
}

/** `<boot>+<milliseconds>`, for labels, variables and the journal. */
export function bootTimeText({ boot, ms }: BootTime): string {
  return `${boot}+${Math.round(ms)}`;
}

/** Undefined for any other text. */
export function parseBootTime(text: string | undefined): BootTime | undefined {
  const [, boot, ms] = /^([0-9a-f-]{36})\+(\d{1,15})$/.exec(text ?? "") ?? [];
  return boot === undefined ? undefined : { boot, ms: Number(ms) };
}

/** From one to the other; undefined when the machine was started anew in between, or one of them is not known. */
export function msBetween(earlier: BootTime | undefined, later: BootTime | undefined): number | undefined {
  return earlier && later && earlier.boot === later.boot ? later.ms - earlier.ms : undefined;
}
