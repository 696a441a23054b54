import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { IpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { storedKey } from "../../simulators/ipmi/users.ts";
import type { SimulatedMachine } from "../../simulators/machine.ts";
import type { RedfishBmc } from "../../simulators/redfish/bmc.ts";

/** What a machine and its BMCs are like, part by part, as JSON would have it. */
export type MachineState = Readonly<Record<string, unknown>>;

/** What a password is called in a state that holds no password. */
export const LOST_PASSWORD = "in no file";

/** Passwords by the name that a state shows. */
export type KnownPasswords = ReadonlyMap<string, string>;

/** The passwords that a run may know: those given, and those in the files of its folder. */
export async function knownPasswords(
  folder: string,
  given: Readonly<Record<string, string>>,
): Promise<KnownPasswords> {
  const known = new Map<string, string>();
  for (const name of await readdir(folder).catch(() => [])) {
    const text = await readFile(join(folder, name), "utf8").catch(() => "");
    for (const line of text.split("\n")) known.set(line, "in a file");
  }
  for (const [label, password] of Object.entries(given)) known.set(password, label);
  return known;
}

export function stateOfMachine(machine: SimulatedMachine): MachineState {
  const { power, override, indicator, restorePolicy, powerLimitWatts, bootOrder, httpBootUri } = machine;
  const { network, bios, secureBoot } = machine;
  const isOverridden = override.enabled !== "disabled" && override.device !== "none";
  return {
    power,
    override: isOverridden ? override : "none",
    ...{ indicator, restorePolicy, powerLimitWatts, bootOrder, httpBootUri, network, bios },
    secureBoot: {
      ...secureBoot,
      databases: keysOf(secureBoot.databases),
      databasesAfterBoot: keysOf(secureBoot.databasesAfterBoot ?? {}),
    },
  };
}

/** Keys without their IDs, which depend on what was there before. */
function keysOf(databases: Readonly<Record<string, readonly { readonly fields: unknown }[]>>) {
  return Object.fromEntries(
    Object.entries(databases).map(([name, keys]) => [name, keys.map(({ fields }) => fields)]),
  );
}

export function stateOfRedfish(bmc: RedfishBmc, known: KnownPasswords): MachineState {
  return {
    accounts: bmc.accounts.all
      .map(({ name, role, enabled, password }) => ({
        name,
        role,
        enabled,
        password: known.get(password) ?? LOST_PASSWORD,
      }))
      .toSorted((one, other) => one.name.localeCompare(other.name)),
    media: bmc.media.slots.map(({ id, image, inserted, writeProtected }) => ({
      id,
      image,
      inserted,
      writeProtected,
    })),
    log: bmc.sel.entries.length,
    firmware: [...bmc.update.firmware].map(([id, { version }]) => `${id} ${version}`),
    volumes: [...bmc.storage.volumes.values()],
    erased: bmc.storage.erased,
    ntp: bmc.manager.ntp,
    certificate: bmc.certificate?.cert,
  };
}

export function stateOfIpmi(bmc: IpmiBmc, known: KnownPasswords): MachineState {
  const passwordOf = (key: Buffer) => (key.every((byte) => byte === 0) ? "none" : knownAs(key));
  const knownAs = (key: Buffer) =>
    [...known].find(
      ([password]) => storedKey(password, 20).equals(key) || storedKey(password.slice(0, 16), 20).equals(key),
    )?.[1];
  return {
    // A user without any access is as good as deleted: some BMCs keep the name.
    ipmiUsers: bmc.users.rows
      .filter(({ name, enabled, messaging }) => name !== "" && (enabled || messaging))
      .map(({ name, key, enabled, messaging, level }) => ({
        name,
        enabled,
        messaging,
        level,
        password: passwordOf(key) ?? LOST_PASSWORD,
      })),
    ipmiLog: bmc.events.size,
    sol: [...bmc.sol],
  };
}

/** Names of the parts that differ. */
export function differences(one: MachineState, other: MachineState): readonly string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => !isDeepStrictEqual(one[name], other[name]));
}
