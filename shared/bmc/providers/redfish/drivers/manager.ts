import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { BmcInfo, BmcResetKind, BmcStart, ManagerDriver } from "../../../operations/manager.ts";
import type { Manager } from "../resources/managed-manager.ts";
import type { Resources } from "../resources/resources.ts";
import { listedResetTypes, noResetType } from "../resources/system-reset.ts";
import { describeWrite } from "../resources/writer.ts";
import { text } from "./inventory-parts.ts";

/** Reset types (DSP0268, Resource.ResetType), the best first. A BMC that only supports one way to restart uses that. */
const RESET_TYPES: Readonly<Record<BmcResetKind, readonly string[]>> = {
  warm: ["GracefulRestart", "ForceRestart"],
  cold: ["ForceRestart", "GracefulRestart"],
};

export function redfishManager({ system, manager, members, writer, log }: Resources): ManagerDriver {
  async function resetRequest(kind: BmcResetKind, signal: AbortSignal) {
    const { value, path: tagPath } = await manager.seen(signal);
    const action = value.Actions?.["#Manager.Reset"];
    const path = system.service.actionPath(tagPath, "#Manager.Reset", action);
    if (path === undefined) throw new BmcError("unsupported", "the BMC does not offer to reset itself");
    // The BMC becomes unavailable, together with its task.
    const request = { method: "POST", path, tagPath, background: true } as const;
    if (system.behaviour.managerReset !== "typed") return { ...request, body: {} };
    const listed = await listedResetTypes(system.service, action, signal);
    const ResetType = RESET_TYPES[kind].find((type) => !listed || listed.includes(type));
    if (ResetType === undefined) throw noResetType(`a ${kind} reset of the BMC`, listed);
    return { ...request, body: { ResetType } };
  }

  return {
    async plan(kind: BmcResetKind, signal: AbortSignal): Promise<string> {
      return describeWrite(await resetRequest(kind, signal));
    },

    async reset(kind: BmcResetKind, signal: AbortSignal): Promise<void> {
      const typed = await resetRequest(kind, signal);
      const request = { ...typed, body: {} };
      if (system.behaviour.managerReset === "typed") {
        const answer = await writer.attempt(typed, signal);
        if (answer.status < 300) return;
        const refused = system.service.refusal(answer, typed);
        // Only 400 means that the BMC rejects the body.
        if (answer.status !== 400 || refused.class === "busy" || refused.class === "auth") throw refused;
        log.debug({ reason: refused.message }, "BMC reset with a type refused, retrying without it");
      }
      await writer.write(request, signal);
      system.learn("empty-manager-reset");
    },

    async info(signal: AbortSignal): Promise<BmcInfo> {
      const { value } = await manager.seen(signal);
      const { value: root } = await members.root(signal);
      return defined({
        vendor: text(root.Vendor) ?? text(value.Manufacturer) ?? text(system.identity.manufacturer),
        model: text(value.Model),
        firmware: text(value.FirmwareVersion),
        protocolVersion: text(root.RedfishVersion),
        serial: text(value.SerialNumber),
        uuid: text(value.UUID) ?? text(root.UUID),
      });
    },

    async clockMs(signal: AbortSignal): Promise<number | undefined> {
      const { value } = await manager.read(signal);
      return clockMs(value);
    },

    async lastStart(signal: AbortSignal): Promise<BmcStart | undefined> {
      const { value } = await manager.read(signal);
      const startedMs = timeMs(value.LastResetTime, value);
      return startedMs === undefined ? undefined : { startedMs, ...defined({ clockMs: clockMs(value) }) };
    },
  };
}

/** The clock (DSP0268, Manager): `DateTime` contains its offset, which older BMCs report only separately. */
export function clockMs(manager: Manager): number | undefined {
  return timeMs(manager.DateTime, manager);
}

function timeMs(shown: string | undefined, { DateTimeLocalOffset }: Manager): number | undefined {
  if (shown === undefined) return undefined;
  const hasOffset = /(z|[+-]\d\d:?\d\d)$/i.test(shown.trim());
  const ms = Date.parse(hasOffset ? shown.trim() : `${shown.trim()}${DateTimeLocalOffset ?? "Z"}`);
  return Number.isNaN(ms) ? undefined : ms;
}
