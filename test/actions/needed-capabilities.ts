import { Readable } from "node:stream";
import type { Action } from "../../actions/harness/action.ts";
import { readInput } from "../../actions/harness/input/read-input.ts";
import { BmcClient } from "../../shared/bmc/client.ts";
import type { Capability } from "../../shared/bmc/operations/table.ts";
import { loadProvider, type ProviderLoader } from "../../shared/bmc/providers/load.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { ProviderName } from "../../shared/contract/vocabulary.ts";
import { silentLogger } from "../../shared/logger.ts";
import { redactor } from "../../shared/secret-forms.ts";

/** Has nothing, and notes what it was asked for. */
class Nothing extends Set<Capability> {
  readonly asked = new Set<Capability>();

  override has(capability: Capability): boolean {
    this.asked.add(capability);
    return false;
  }
}

/**
 * What an action needs of a provider beyond power and boot, which all have: found by running it with one that has
 * nothing at all. `env` is its whole input.
 */
export async function neededCapabilities(
  action: Action,
  env: Readonly<Record<string, string>>,
): Promise<readonly Capability[]> {
  const { signal } = new AbortController();
  const read = await readInput(action, { env, flags: {}, stdin: () => Readable.from([]), signal });
  if (!read.ok) throw new Error(`${action.name}: ${read.problems.join("; ")}`);
  const capabilities = new Nothing();
  const refuse = async () => {
    throw new BmcError("unsupported", "it has nothing");
  };
  const loader: ProviderLoader = async (name) => ({ name, capabilities, open: refuse });
  const { connection, own, common } = read.input;
  const client = () => new BmcClient(connection, { loadProvider: loader });
  const running = action.run({
    ...{ bmc: client(), clientFor: client, providers: connection.providers, tlsFallback: false },
    ...{ input: own, dryRun: common.dryRun, signal, log: silentLogger },
    ...{ nameInput: (variable) => variable, redact: redactor({}), progress: () => undefined },
  });
  await running.catch(() => undefined);
  return [...capabilities.asked];
}

/** Ways to a machine by its own address; what goes through a service is tried alone. */
const BY_ADDRESS = ProviderName.options.filter((name) => !["rpc", "homeassistant", "ironic"].includes(name));

export async function capable(name: ProviderName, needed: readonly Capability[]): Promise<boolean> {
  const { capabilities } = await loadProvider(name);
  return needed.every((capability) => capabilities.has(capability));
}

/** The providers that a machine may have side by side and that lack what is needed. */
export async function incapableProviders(needed: readonly Capability[]): Promise<readonly ProviderName[]> {
  const able = await Promise.all(BY_ADDRESS.map((name) => capable(name, needed)));
  return BY_ADDRESS.filter((_, index) => !able[index]);
}
