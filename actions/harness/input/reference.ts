import type { z } from "zod";
import type { ActionResult } from "../../../shared/contract/result.ts";

/**
 * What an action's README and its registry entry say beyond its input. Each action has one in `reference.ts`,
 * which no program loads.
 */
export interface ActionReference {
  /** The action's own variables in the example template, which also has `MACHINE`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Volumes of the example template, if the action reads or writes files: `/host/path:/path:ro`. */
  readonly volumes?: readonly string[];
  /** Words under which the registry finds it, beyond those of all actions. */
  readonly keywords: readonly string[];
  /** It reads and sends nothing that changes anything, so that a dry run is no different. */
  readonly readsOnly?: true;
  /**
   * The most round trips that the example takes with nothing known of the BMC: login and read-back included, logout not. A user slot or
   * key is read once more right before the write, because its place may have got another since it was listed.
   */
  readonly mostRoundTrips: { readonly redfish?: number; readonly ipmi?: number };
  /** It asks again until something has happened; how often depends on the host. */
  readonly polls?: true;
  /** What the result holds beside what every result does; each field with a description. */
  readonly output: {
    readonly before?: z.ZodType;
    readonly after?: z.ZodType;
    readonly data?: z.ZodType;
  };
  readonly result: ActionResult;
}

type GivenReference = Omit<ActionReference, "environment" | "result"> & {
  readonly environment?: ActionReference["environment"];
  readonly result: Omit<ActionResult, "action" | "machine" | "ok">;
};

/** The reference of an action whose example succeeds, by default with Redfish and without variables. */
export function actionReference(
  action: string,
  { environment = {}, ...given }: GivenReference,
): ActionReference {
  const { message, provider = "redfish", ...rest } = given.result;
  const result: ActionResult = { action, machine: "node-01", ok: true, message, provider, ...rest };
  return { ...given, environment, result };
}
