import { containerStartTable } from "./container-start.ts";
import { startUpTable } from "./start-up.ts";

/** `npm run bench`: prints each benchmark's table. Figures are medians of this machine, for comparing, not for passing. */
process.stdout.write(`${await startUpTable()}\n\n`);
process.stdout.write(`${await containerStartTable()}\n`);
