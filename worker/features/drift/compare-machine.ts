import type { BmcClient } from "../../../shared/bmc/client.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Connection } from "../../../shared/contract/connection.ts";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import { defined } from "../../../shared/defined.ts";
import { printableLine, shortened } from "../../../shared/printable.ts";
import type { Difference } from "../shared/drift-seen.ts";
import { compare, withoutSecrets } from "./compare.ts";
import { readMachine } from "./read-machine.ts";

/** The result of one comparison. Texts of the BMC are redacted and short. */
export interface Comparison {
  /** The differences of all desired settings that could be read. */
  readonly differences: readonly Difference[];
  /** The first error; settings that could not be read because of it are missing. */
  readonly error?: BmcError;
}

const LONGEST_TEXT = 200;
const MOST_TEXTS = 16;

/** Reads a machine and compares it with its desired state. */
export async function compareMachine(
  bmc: BmcClient,
  connection: Connection,
  desired: DesiredState,
  redact: (text: string) => string,
  signal: AbortSignal,
): Promise<Comparison> {
  const line = (text: string) => shortened(printableLine(redact(text)).trim(), LONGEST_TEXT);
  const { observed, error } = await readMachine(bmc, desired, signal);
  const differences = compare(desired, observed, connection.bootMode).map((one) => {
    const { actual } = one;
    return withoutSecrets(
      Array.isArray(actual) ? { ...one, actual: actual.slice(0, MOST_TEXTS) } : one,
      line,
    );
  });
  return {
    differences,
    ...(error && {
      error: new BmcError(error.class, line(error.message), {
        cause: error,
        ...defined({ refused: error.refused }),
      }),
    }),
  };
}
