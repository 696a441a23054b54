import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { type SecureBootDatabase, titleOf } from "../../../operations/secure-boot-key.ts";
import type { SecureBootDriver, SecureBootKeys } from "../../../operations/secureboot.ts";
import type { Resources } from "../resources/resources.ts";
import {
  databasePaths,
  findDatabase,
  findSecureBoot,
  SECURE_BOOT_MODES,
} from "../resources/secure-boot-resource.ts";
import { settingsWrite, writeSettings } from "../resources/settings-place.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";

const KEY_RESETS: Readonly<Record<SecureBootKeys, string>> = {
  default: "ResetAllKeysToDefault",
  "delete-all": "DeleteAllKeys",
  "delete-pk": "DeletePK",
};

/** The system's SecureBoot resource, or its settings resource for writes. */
export function redfishSecureBoot(resources: Resources): SecureBootDriver {
  const { system, writer } = resources;
  const { service } = system;
  const find = async (signal: AbortSignal) => {
    const found = await findSecureBoot(resources, signal);
    if (!found) throw new BmcError("unsupported", "the BMC does not offer Secure Boot");
    return found;
  };
  const change = async (enabled: boolean, signal: AbortSignal) => {
    const found = await find(signal);
    if (found.value.SecureBootEnable === undefined) {
      throw new BmcError(
        "unsupported",
        "the BMC does not let Secure Boot be set: it has no SecureBootEnable",
      );
    }
    return settingsWrite(service, found, { SecureBootEnable: enabled }, signal);
  };
  const keysRequest = async (
    keys: SecureBootKeys,
    database: SecureBootDatabase | undefined,
    signal: AbortSignal,
  ): Promise<WriteRequest> => {
    const { path, action } = await resetAction(database, signal);
    const type = KEY_RESETS[keys];
    if (path === undefined || (action?.values.get("ResetKeysType")?.includes(type) ?? true) === false) {
      const where = database === undefined ? "" : ` of ${titleOf(database)}`;
      throw new BmcError("unsupported", `the BMC does not offer to reset Secure Boot keys${where} (${type})`);
    }
    return { method: "POST", path, body: { ResetKeysType: type }, needsTask: true };
  };
  const resetAction = async (database: SecureBootDatabase | undefined, signal: AbortSignal) => {
    const secureBoot = await find(signal);
    if (database === undefined) {
      const action = secureBoot.value.Actions?.["#SecureBoot.ResetKeys"];
      return { action, path: service.actionPath(secureBoot.path, "#SecureBoot.ResetKeys", action) };
    }
    const paths = await databasePaths(resources, secureBoot, signal);
    const found = await findDatabase(resources, paths, database, signal);
    const action = found.value.Actions?.["#SecureBootDatabase.ResetKeys"];
    return { action, path: service.actionPath(found.path, "#SecureBootDatabase.ResetKeys", action) };
  };
  return {
    async read(signal) {
      const { value } = await find(signal);
      const { SecureBootCurrentBoot: current, SecureBootMode: mode = "" } = value;
      const active = current === undefined ? undefined : current === "Enabled";
      // Without a switch, the next boot uses the same value as the last one.
      const enabled = value.SecureBootEnable ?? active;
      if (enabled === undefined) {
        throw new BmcError("unsupported", "the BMC does not say whether Secure Boot is on");
      }
      return { enabled, ...defined({ active, mode: SECURE_BOOT_MODES[mode] }) };
    },
    plan: async (enabled, signal) => describeWrite((await change(enabled, signal)).request),
    async write(enabled, signal) {
      await writeSettings({ system, writer }, await change(enabled, signal), signal);
    },
    planKeys: async (keys, database, signal) => describeWrite(await keysRequest(keys, database, signal)),
    async resetKeys(keys, database, signal) {
      await writer.write(await keysRequest(keys, database, signal), signal);
    },
  };
}
