import { z } from "zod";
import type { Action } from "../../actions/harness/action.ts";
import type { InputFields } from "../../actions/harness/input/input.ts";
import type { ActionInput } from "../../actions/harness/input/read-input.ts";
import { runAction } from "../../actions/harness/run/run-action.ts";
import { type RecordBmcOptions, recordBmc } from "../../shared/bmc/recording/record-bmc.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import { defined } from "../../shared/defined.ts";
import { Anonymiser } from "../../shared/recording/anonymise.ts";
import { type Recording, recordingText } from "../../shared/recording/recording.ts";
import { type Redactor, redactor } from "../../shared/secret-forms.ts";

export interface MadeRecording {
  readonly recording: Recording;
  /** The text of the recording's file. */
  readonly text: string;
  /** The result of the action that was recorded. */
  readonly result: ActionResult | undefined;
  /** The reasons why providers could not be recorded. */
  readonly failures: readonly string[];
}

/**
 * Reads a BMC, runs the action if there is one, and makes a recording of both. Rejects with a `BmcError` if nothing can be
 * read, or if the recording would contain a secret of the connection.
 */
export async function makeRecording(
  action: Action | undefined,
  input: ActionInput<InputFields>,
  {
    keep = [],
    ...options
  }: Omit<RecordBmcOptions, "nameOption" | "hasAction"> & {
    /** Texts that are not replaced. */
    readonly keep?: readonly string[];
  },
): Promise<MadeRecording> {
  const { connection, nameOption, own } = input;
  const redact = redactor({ username: connection.username, connection, own });
  const reading = await recordBmc(connection, { ...options, nameOption, hasAction: action !== undefined });
  if (action) options.progress(`running ${action.name}`);
  const { log, signal, clock } = options;
  const result = action && (await runAction(action, input, { log, signal, clock, tap: reading.wire }));
  const anonymiser = new Anonymiser(redact, { keep });
  const recording = reading.anonymous(anonymiser, connection);
  if (result) recording.action = endOf(result, anonymiser);
  Object.assign(recording, keep.length > 0 && { kept: anonymiser.kept }, { replaced: anonymiser.replaced });
  const text = recordingText(recording);
  if (holdsSecret(text, redact))
    throw new BmcError("internal", "the recording holds a secret of the connection: not written");
  return { recording, text, result, failures: reading.failures };
}

/**
 * Whether a recording contains a secret. Checks one line at a time, because checking the whole text would need several times
 * its memory; no value spans lines.
 */
function holdsSecret(text: string, redact: Redactor): boolean {
  for (let [start, end] = [0, 0]; start < text.length; start = end + 1) {
    end = text.indexOf("\n", start);
    if (end < 0) end = text.length;
    const line = text.slice(start, end);
    if (redact(line) !== line) return true;
  }
  return false;
}

function endOf(result: ActionResult, anonymiser: Anonymiser): Recording["action"] {
  const { action: name, ok, class: errorClass, message = "", provider, data } = result;
  const { checks } = Checks.safeParse(data).data ?? {};
  return {
    name,
    ok,
    message: anonymousMessage(message, anonymiser),
    ...defined({ class: errorClass, provider, checks }),
  };
}

/** Anonymises a message. A user may have a common word as name, which is replaced in the BMC's answers too. */
function anonymousMessage(message: string, anonymiser: Anonymiser): string {
  const [, before, name, rest] = /^((?:\w+: )?(?:there is no )?user )([^\s:]+)(.*)$/s.exec(message) ?? [];
  if (before === undefined || name === undefined || rest === undefined) return anonymiser.text(message);
  return `${anonymiser.text(before)}${anonymiser.value(name, "UserName")}${anonymiser.text(rest)}`;
}

/** The result of `check`: which checks passed, without their details. */
const Checks = z.object({
  checks: z.array(z.object({ provider: z.string(), check: z.string(), state: z.string() })),
});
