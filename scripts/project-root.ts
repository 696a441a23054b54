import { join } from "node:path";

/** Of the checkout. */
export const projectRoot = join(import.meta.dirname, "..");
