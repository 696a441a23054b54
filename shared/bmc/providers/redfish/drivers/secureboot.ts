import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { SecureBootDriver, SecureBootKeys, SecureBootMode } from "../../../operations/secureboot.ts";
import type { Resources } from "../resources/resources.ts";
import { SettingsLink, settingsWrite, writeSettings } from "../resources/settings-place.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { lenient, Values } from "../service/schema.ts";

/** SecureBoot (DSP0268), as far as it is read. */
const SecureBoot = z.object({
  "@odata.etag": lenient(z.string()),
  "@Redfish.Settings": SettingsLink,
  SecureBootEnable: lenient(z.boolean()),
  SecureBootCurrentBoot: lenient(z.string()),
  SecureBootMode: lenient(z.string()),
  Actions: lenient(
    z.object({
      "#SecureBoot.ResetKeys": lenient(
        z.object({
          target: lenient(z.string()),
          "ResetKeysType@Redfish.AllowableValues": lenient(Values),
        }),
      ),
    }),
  ),
});

const MODES: Readonly<Record<string, SecureBootMode>> = {
  SetupMode: "setup",
  UserMode: "user",
  AuditMode: "audit",
  DeployedMode: "deployed",
};

const KEY_RESETS: Readonly<Record<SecureBootKeys, string>> = {
  default: "ResetAllKeysToDefault",
  "delete-all": "DeleteAllKeys",
  "delete-pk": "DeletePK",
};

/** The system's SecureBoot resource, or the settings that it refers to for writes. */
export function redfishSecureBoot({ system, writer }: Resources): SecureBootDriver {
  const { service } = system;
  const find = async (signal: AbortSignal) => {
    await system.refresh(signal);
    const path = service.localPath(system.last.value.SecureBoot?.["@odata.id"]);
    const found = path === undefined ? undefined : await service.find(path, SecureBoot, signal);
    if (found?.value.SecureBootEnable === undefined) {
      throw new BmcError("unsupported", "the BMC does not offer Secure Boot");
    }
    return { ...found, enabled: found.value.SecureBootEnable };
  };
  const change = async (enabled: boolean, signal: AbortSignal) =>
    settingsWrite(service, await find(signal), { SecureBootEnable: enabled }, signal);
  const keysRequest = async (keys: SecureBootKeys, signal: AbortSignal): Promise<WriteRequest> => {
    const { path: resource, value } = await find(signal);
    const action = value.Actions?.["#SecureBoot.ResetKeys"];
    const path = service.actionPath(resource, "#SecureBoot.ResetKeys", action);
    const type = KEY_RESETS[keys];
    const taken = action?.["ResetKeysType@Redfish.AllowableValues"];
    if (path === undefined || (taken && !taken.includes(type))) {
      throw new BmcError("unsupported", `the BMC does not offer to reset Secure Boot keys (${type})`);
    }
    return { method: "POST", path, body: { ResetKeysType: type }, needsTask: true };
  };
  return {
    async read(signal) {
      const { enabled, value } = await find(signal);
      const { SecureBootCurrentBoot: current, SecureBootMode: mode = "" } = value;
      const active = current === undefined ? undefined : current === "Enabled";
      return { enabled, ...defined({ active, mode: MODES[mode] }) };
    },
    plan: async (enabled, signal) => describeWrite((await change(enabled, signal)).request),
    async write(enabled, signal) {
      await writeSettings({ system, writer }, await change(enabled, signal), signal);
    },
    planKeys: async (keys, signal) => describeWrite(await keysRequest(keys, signal)),
    async resetKeys(keys, signal) {
      await writer.write(await keysRequest(keys, signal), signal);
    },
  };
}
