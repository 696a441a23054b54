import * as z from "zod/mini";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { decodeText, fileProblemOf } from "../../../shared/read-text-file.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { readSecretText } from "../../document/secret-text.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { KubernetesError } from "../../kubernetes/client/kubernetes-error.ts";

export const SecretObject = z.object({ data: z.optional(z.nullable(z.record(z.string(), z.string()))) });

/** The time limit, so that an unavailable API does not block a lane. It equals the limit for secrets in files. */
const READ_TIMEOUT_MS = 10_000;

/**
 * Reads the keys of one Secret, all from the same version. Throws a `BmcError` that names the Secret but reveals nothing in
 * it, or the signal's reason.
 */
export async function readSecretKeys(
  cluster: Cluster,
  secret: ObjectName,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const called = `Secret ${secret.namespace}/${secret.name}`;
  try {
    const { data } = await withTimeout(READ_TIMEOUT_MS, signal, (bounded) =>
      cluster.get(KINDS.secret, secret, SecretObject, bounded),
    );
    return Object.fromEntries(keys.map((key) => [key, valueUnder(data ?? {}, key, called)]));
  } catch (thrown) {
    signal.throwIfAborted();
    throw readError(thrown, called, secret);
  }
}

function valueUnder(data: Readonly<Record<string, string>>, key: string, called: string): string {
  const encoded = Object.hasOwn(data, key) ? data[key] : undefined;
  if (encoded === undefined) throw new BmcError("usage", `${called} has no key ${key}`);
  try {
    return readSecretText(decodeText(Buffer.from(encoded, "base64")));
  } catch (thrown) {
    throw new BmcError("usage", `${called}: its key ${key} ${fileProblemOf(thrown)}`);
  }
}

function readError(thrown: unknown, called: string, { namespace }: ObjectName): BmcError {
  if (thrown instanceof TimeoutReached) {
    return new BmcError("timeout", `${called} could not be read within ${thrown.afterMs} ms`);
  }
  if (!(thrown instanceof KubernetesError)) return BmcError.from(thrown);
  switch (thrown.reason) {
    case "not-found":
      return new BmcError("usage", `${called} does not exist`);
    case "forbidden":
      return new BmcError(
        "usage",
        `${called} may not be read: grant the worker get on secrets in ${namespace}`,
      );
    default:
      return new BmcError(thrown.class, `${called} cannot be read: ${thrown.message}`);
  }
}
