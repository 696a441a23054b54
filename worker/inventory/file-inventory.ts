import { BmcError } from "../../shared/bmc/errors.ts";
import { Connection, providersOf, requiredCredentials } from "../../shared/contract/connection.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import type { Inventory, Machine } from "./inventory.ts";
import { lockKeyOf, serviceLockKey } from "./lock-key.ts";
import type { MachineEntry } from "./schema.ts";
import { type Environment, readBundle, readSecret, type SecretSource } from "./secret-source.ts";
import { homeAssistantOptions, rpcOptions, rpcSecretSources } from "./service-options.ts";

/** Secrets are small and local; a network file system that hangs must not hold a lane for longer. */
const READ_TIMEOUT_MS = 10_000;

/** The machines of an inventory file, which is read once; their secrets are read for each connection. */
export class FileInventory implements Inventory {
  readonly #entries: ReadonlyMap<string, MachineEntry>;
  readonly #machines: readonly Machine[];
  readonly #env: Environment;

  /** Paths in `entries` are absolute; `env` is where the variables they name are looked up. */
  constructor(entries: readonly MachineEntry[], env: Environment) {
    this.#entries = new Map(entries.map((entry) => [entry.name, entry]));
    this.#machines = entries.map(machineOf);
    this.#env = env;
  }

  machines(): readonly Machine[] {
    return this.#machines;
  }

  find(name: string): Machine | undefined {
    const entry = this.#entries.get(name);
    return entry && machineOf(entry);
  }

  async resolveConnection(machine: Machine): Promise<Connection> {
    const entry = this.#entries.get(machine.name);
    if (!entry) throw new BmcError("usage", `there is no machine ${machine.name} in the inventory`);
    try {
      return await withTimeout(READ_TIMEOUT_MS, new AbortController().signal, (signal) =>
        this.#connect(entry, signal),
      );
    } catch (thrown) {
      const reason =
        thrown instanceof TimeoutReached
          ? "its files could not be read in time"
          : BmcError.from(thrown).message;
      throw new BmcError("usage", `machine ${machine.name}: ${reason}`);
    }
  }

  async #connect(entry: MachineEntry, signal: AbortSignal): Promise<Connection> {
    const secret = (source: SecretSource | undefined) => source && readSecret(source, this.#env, signal);
    const { name, credentials, connectTimeout, requestTimeout, headStart, tls, ...others } = entry;
    const { ipmi, ipmitool, rpc, homeassistant, ...same } = others;
    const { caFile, ...tlsOptions } = tls;
    const { kgFile: ipmiKgFile, kgEnv: ipmiKgEnv, ...ipmiOptions } = ipmi;
    const { kgFile: ipmitoolKgFile, kgEnv: ipmitoolKgEnv, ...ipmitoolOptions } = ipmitool;
    // Keys that are undefined count as absent, so the schema's own defaults apply to them.
    const parsed = Connection.safeParse({
      ...same,
      machine: name,
      username: credentials.username ?? (await secret(usernameSource(entry))),
      password: await secret(passwordSource(entry)),
      connectTimeoutMs: connectTimeout,
      requestTimeoutMs: requestTimeout,
      headStartMs: headStart,
      tls: {
        ...tlsOptions,
        ca: caFile === undefined ? undefined : await readBundle("caFile", caFile, signal),
      },
      ipmi: { ...ipmiOptions, kg: await secret(source("kg", ipmiKgFile, ipmiKgEnv)) },
      ipmitool: { ...ipmitoolOptions, kg: await secret(source("kg", ipmitoolKgFile, ipmitoolKgEnv)) },
      rpc: rpc && (await rpcOptions(rpc, (source) => readSecret(source, this.#env, signal))),
      homeassistant: homeassistant && homeAssistantOptions(homeassistant),
    });
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new BmcError("usage", `${issue?.path.join(".")} ${issue?.message}`);
  }
}

function machineOf(entry: MachineEntry): Machine {
  return { name: entry.name, lockKey: entryLockKey(entry) };
}

/** By the service that stands for the BMC, or by the ports of the providers that the machine uses. */
export function entryLockKey(entry: MachineEntry): string {
  const { host, redfish, ipmi, ipmitool, amt, rpc, homeassistant } = entry;
  if (rpc) return serviceLockKey("rpc", rpc.url, host);
  if (homeassistant) return serviceLockKey("homeassistant", homeassistant.url, homeassistant.entity);
  const providers = providersOf(entry);
  const ipmiPort = providers.includes("ipmi") ? ipmi.port : ipmitool.port;
  return lockKeyOf(host, {
    redfish: providers.includes("redfish") ? redfish.port : undefined,
    ipmi: providers.includes("ipmi") || providers.includes("ipmitool") ? ipmiPort : undefined,
    amt: providers.includes("amt") ? amt.port : undefined,
  });
}

/** Where a machine's secrets are; none of those that are not given. */
export function secretSources(entry: MachineEntry): readonly SecretSource[] {
  return [
    usernameSource(entry),
    passwordSource(entry),
    source("kg", entry.ipmi.kgFile, entry.ipmi.kgEnv),
    source("kg", entry.ipmitool.kgFile, entry.ipmitool.kgEnv),
    ...rpcSecretSources(entry.rpc),
  ].filter((found) => found !== undefined);
}

function usernameSource(entry: MachineEntry): SecretSource | undefined {
  const { credentials } = entry;
  if (!requiredCredentials(entry).includes("username")) return undefined;
  return source("username", credentials.usernameFile, credentials.usernameEnv);
}

/** What is not needed is not read: the defaults' credentials may not exist for a machine behind a service. */
function passwordSource(entry: MachineEntry): SecretSource | undefined {
  const { credentials } = entry;
  if (!requiredCredentials(entry).includes("password")) return undefined;
  return source("password", credentials.passwordFile, credentials.passwordEnv);
}

function source(
  name: string,
  file: string | undefined,
  variable: string | undefined,
): SecretSource | undefined {
  if (file !== undefined) return { key: `${name}File`, file };
  return variable === undefined ? undefined : { key: `${name}Env`, variable };
}
