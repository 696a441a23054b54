import { setFlagsFromString } from "node:v8";

/**
 * Keeps a process small that idles most of its time. V8 lets the space for new objects grow to tens of megabytes
 * in the first burst, such as a thousand polls at once, and a process that does little never has it taken back. A space
 * that stays small is collected more often while much goes on.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}
