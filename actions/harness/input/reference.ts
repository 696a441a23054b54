import type { z } from "zod";
import type { ActionResult } from "../../../shared/contract/result.ts";

/**
 * What an action's README and registry entry say in addition to its inputs. Each action has one in `reference.ts`, which no
 * program loads.
 */
export interface ActionReference {
  /** The action's own variables in the example template, which also has `MACHINE`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Volumes of the example template, if the action reads or writes files: `/host/path:/path:ro`. */
  readonly volumes?: readonly string[];
  /** Keywords for the registry, in addition to the keywords of all actions. */
  readonly keywords: readonly string[];
  /** Whether the action only reads, so that a dry run is the same as a run. */
  readonly readsOnly?: true;
  /**
   * The most round trips that the example takes with nothing known of the BMC: login and read-back included, logout not. A user slot or
   * key is read once more right before the write, because its place may have got another since it was listed.
   */
  readonly mostRoundTrips: { readonly redfish?: number; readonly ipmi?: number };
  /** It asks again until something has happened; how often depends on the host. */
  readonly polls?: true;
  /** The fields of the result in addition to the fields of every result, each with a description. */
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

/** Makes the reference of an action. By default its example succeeds with Redfish and sets no variables. */
export function actionReference(
  action: string,
  { environment = {}, ...given }: GivenReference,
): ActionReference {
  const { message, provider = "redfish", ...rest } = given.result;
  const result: ActionResult = { action, machine: "node-01", ok: true, message, provider, ...rest };
  return { ...given, environment, result };
}
