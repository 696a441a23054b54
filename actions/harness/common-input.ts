import * as z from "zod/mini";
import { boolean, choice, duration, type InputField } from "./input.ts";

/** What every action takes beside its own input and the connection. */
export const commonInput = {
  timeout: duration({
    env: "TIMEOUT",
    description: "Time for the whole action; what is under way is cancelled and sessions are closed",
    default: "10m",
    minMs: 100,
  }),
  dryRun: boolean({
    env: "DRY_RUN",
    description: "Read the state and say what would be sent; change nothing",
    default: "false",
  }),
  resultFile: {
    env: "RESULT_FILE",
    type: "file",
    description: "Also write the result line to this file",
    schema: z.string(),
  } satisfies InputField<string>,
  logLevel: choice(["debug", "info", "warn", "error"], {
    env: "LOG_LEVEL",
    description: "The least severe log lines to write to stderr",
    default: "info",
  }),
};

/** For actions whose data makes a table. */
export const outputInput = choice(["auto", "json", "table"], {
  env: "OUTPUT",
  description: "What stdout gets: the result as JSON or a table of its data; auto is a table on a terminal",
  default: "auto",
});

/** The common input of one action. */
export function commonFields(action: { readonly table?: unknown }): readonly InputField[] {
  const fields = Object.values(commonInput);
  return action.table === undefined ? fields : [outputInput, ...fields];
}
