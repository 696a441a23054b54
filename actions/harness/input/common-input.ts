import * as z from "zod/mini";
import { MOST_RETRIES, RETRIES } from "../../../shared/contract/retries.ts";
import { LOG_LEVELS } from "../../../shared/logger.ts";
import { boolean, choice, duration, type InputField, integer } from "./input.ts";

/** The inputs that every action takes besides its own and the connection. */
export const commonInput = {
  output: choice(["auto", "text", "table", "json", "yaml"], {
    env: "OUTPUT",
    description:
      "Format of the result on stdout; auto is the table, or one sentence, on a terminal, and JSON elsewhere",
    default: "auto",
  }),
  timeout: duration({
    env: "TIMEOUT",
    description:
      "Timeout of the whole action; when it expires, requests are cancelled and sessions are closed",
    default: "10m",
    minMs: 100,
  }),
  retries: integer({
    env: RETRIES,
    description:
      "How often to repeat the action, within its timeout, after a failure that may pass; only for idempotent actions",
    default: "0",
    min: 0,
    max: MOST_RETRIES,
  }),
  dryRun: boolean({
    env: "DRY_RUN",
    description: "Read the state and print what would be sent, without changing anything",
    default: "false",
  }),
  resultFile: {
    env: "RESULT_FILE",
    type: "file",
    written: true,
    description: "Also write the result line to this file",
    schema: z.string(),
  } satisfies InputField<string>,
  logLevel: choice(LOG_LEVELS, {
    env: "LOG_LEVEL",
    description: "Minimum level of the log lines on stderr",
    default: "info",
  }),
};

export const commonFields: readonly InputField[] = Object.values(commonInput);
