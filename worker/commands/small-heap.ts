import { setFlagsFromString } from "node:v8";

/**
 * Keeps a mostly idle process small. V8 grows the space for new objects to tens of megabytes in the first burst, such as a
 * thousand polls at once, and does not shrink it while the process idles. A small space is collected more often under load.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}
