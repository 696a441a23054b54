import { inspect } from "node:util";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import type { Connection } from "../../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../../shared/contract/error-class.ts";
import type { LogFields, Logger } from "../../../../shared/logger.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { OFF, PXE_ONCE } from "../faults/attempt.ts";

/** Logs at every level, and makes what a careless sink would make of the fields. */
export function careless(): Logger & { readonly text: () => string } {
  const lines: string[] = [];
  const keep = (fields: LogFields, message: string) => {
    lines.push(message, JSON.stringify(fields), inspect(fields, { showHidden: true, depth: 20 }));
  };
  return { debug: keep, info: keep, warn: keep, error: keep, text: () => lines.join("\n") };
}

/** An error with everything that can be got out of it: causes, hidden properties, stack. */
export function everythingOf(error: unknown): string {
  const texts: string[] = [];
  for (let cause = error, depth = 0; cause !== undefined && depth < 10; depth += 1) {
    texts.push(String(cause), inspect(cause, { showHidden: true, depth: 20 }), JSON.stringify(cause));
    if (!(cause instanceof Error)) break;
    texts.push(cause.message, cause.stack ?? "");
    cause = cause.cause;
  }
  return texts.join("\n");
}

/** A secret as it may be met: as it is, in hex, in base64, alone and as HTTP carries it. */
function formsOf(secret: string): string[] {
  const whole = [secret, `admin:${secret}`];
  return whole.flatMap((text) => {
    const bytes = Buffer.from(text);
    // The bytes as inspect shows a Buffer.
    const spaced = bytes.toString("hex").replace(/..(?=.)/g, "$& ");
    return [text, bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex"), spaced];
  });
}

/** Which of these secrets can be found in the text, in any form. */
export function foundIn(text: string, secrets: readonly string[]): readonly string[] {
  return secrets.filter((secret) => formsOf(secret).some((form) => text.includes(form)));
}

/**
 * Runs several operations of one client and gives everything they left behind, and how each ended: its error's
 * class, or undefined.
 */
export async function leftBehind(connection: Connection, clockFactor: number) {
  const log = careless();
  const client = new BmcClient(connection, { clock: scaledClock(clockFactor), log });
  const signal = AbortSignal.timeout(60_000);
  const texts: string[] = [];
  const classes: (ErrorClass | undefined)[] = [];
  const operations = [
    () => client.getPower(signal),
    () => client.planPower(OFF, signal),
    () => client.setBoot(PXE_ONCE, signal),
    () => client.setPower(OFF, signal),
  ];
  for (const operation of operations) {
    try {
      const result = await operation();
      texts.push(JSON.stringify(result), inspect(result, { showHidden: true, depth: 20 }));
      classes.push(undefined);
    } catch (error) {
      texts.push(everythingOf(error));
      classes.push(BmcError.from(error).class);
    }
  }
  await client.close();
  texts.push(JSON.stringify(client.hint) ?? "", inspect(client.hint, { showHidden: true, depth: 20 }));
  texts.push(inspect(client, { showHidden: true, depth: 20 }), log.text());
  texts.push(JSON.stringify(connection), inspect(connection, { showHidden: true, depth: 20 }));
  return { text: texts.join("\n"), classes };
}
