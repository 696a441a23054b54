import { join } from "node:path";

/** Root folder of the checkout. */
export const projectRoot = join(import.meta.dirname, "..");
