import { z } from "zod";
import { ErrorClass } from "../../shared/contract/error-class.ts";
import table from "./causes.json" with { type: "json" };

/** The checks in the order of the report. */
export const CHECK_NAMES = [
  "settings",
  "inventory",
  "policy",
  "agent-ids",
  "secrets",
  "state-directory",
  "tink-server",
  "cluster",
  "runtime",
  "action-image",
  "bmc",
] as const;
export type CheckName = (typeof CHECK_NAMES)[number];

/** A known cause of problems or warnings. */
const Cause = z.strictObject({
  check: z.enum(CHECK_NAMES),
  state: z.enum(["problem", "warning"]),
  /** Determines the exit code, which is 1 for a problem without a class. */
  class: z.enum(ErrorClass.options).optional(),
  /** The fix; `{name}` is replaced by a fact of the finding. */
  fix: z.string(),
});
export type Cause = z.infer<typeof Cause>;

export type CauseName = keyof typeof table;
export const CAUSE_NAMES = Object.keys(table) as [CauseName, ...CauseName[]];

/** Everything that the doctor can find, and how to fix it. */
export const CAUSES: Readonly<Record<CauseName, Cause>> = z.record(z.enum(CAUSE_NAMES), Cause).parse(table);
