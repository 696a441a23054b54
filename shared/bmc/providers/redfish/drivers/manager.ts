import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Logger } from "../../../../logger.ts";
import type { BmcInfo, BmcResetKind, ManagerDriver } from "../../../operations/manager.ts";
import type { ManagedManager, Manager } from "../resources/managed-manager.ts";
import type { Members } from "../resources/members.ts";
import { listedResetTypes, noResetType } from "../resources/reset-types.ts";
import type { ManagedSystem } from "../resources/system.ts";
import type { Writer } from "../resources/writer.ts";
import { has, text } from "./inventory-parts.ts";

/** Reset types (DSP0268, Resource.ResetType), best first: a BMC that knows one way to restart restarts that way. */
const RESET_TYPES: Readonly<Record<BmcResetKind, readonly string[]>> = {
  warm: ["GracefulRestart", "ForceRestart"],
  cold: ["ForceRestart", "GracefulRestart"],
};

export interface RedfishManagerParts {
  readonly system: ManagedSystem;
  readonly manager: ManagedManager;
  readonly members: Members;
  readonly writer: Writer;
  readonly log: Logger;
}

export class RedfishManager implements ManagerDriver {
  readonly #parts: RedfishManagerParts;

  constructor(parts: RedfishManagerParts) {
    this.#parts = parts;
  }

  async plan(kind: BmcResetKind, signal: AbortSignal): Promise<string> {
    const { path, body } = await this.#request(kind, signal);
    return `POST ${path} ${JSON.stringify(body)}`;
  }

  async reset(kind: BmcResetKind, signal: AbortSignal): Promise<void> {
    const { system, writer, log } = this.#parts;
    const typed = await this.#request(kind, signal);
    const request = { ...typed, body: {} };
    if (system.behaviour.managerReset === "typed") {
      const answer = await writer.attempt(typed, signal);
      if (answer.status < 300) return;
      const refused = system.service.refusal(answer, typed);
      // Only 400 says that the body is what the BMC does not like.
      if (answer.status !== 400 || refused.class === "busy" || refused.class === "auth") throw refused;
      log.debug({ reason: refused.message }, "BMC reset with a type refused, retrying without it");
    }
    await writer.write(request, signal);
    system.learn("empty-manager-reset");
  }

  async #request(kind: BmcResetKind, signal: AbortSignal) {
    const { system, manager } = this.#parts;
    const { value, path: tagPath } = await manager.seen(signal);
    const action = value.Actions?.["#Manager.Reset"];
    const path = system.service.localPath(action?.target);
    if (path === undefined) throw new BmcError("unsupported", "the BMC offers no reset of itself");
    const request = { method: "POST", path, tagPath } as const;
    if (system.behaviour.managerReset !== "typed") return { ...request, body: {} };
    const listed = await listedResetTypes(system.service, action, signal);
    const ResetType = RESET_TYPES[kind].find((type) => !listed || listed.includes(type));
    if (ResetType === undefined) throw noResetType(`a ${kind} reset of the BMC`, listed);
    return { ...request, body: { ResetType } };
  }

  async info(signal: AbortSignal): Promise<BmcInfo> {
    const { system, manager, members } = this.#parts;
    const { value } = await manager.seen(signal);
    const { value: root } = await members.root(signal);
    return {
      ...has("vendor", text(root.Vendor) ?? text(value.Manufacturer) ?? text(system.identity.manufacturer)),
      ...has("model", text(value.Model)),
      ...has("firmware", text(value.FirmwareVersion)),
      ...has("protocolVersion", text(root.RedfishVersion)),
      ...has("serial", text(value.SerialNumber)),
      ...has("uuid", text(value.UUID) ?? text(root.UUID)),
    };
  }

  async clockMs(signal: AbortSignal): Promise<number | undefined> {
    const { value } = await this.#parts.manager.read(signal);
    return clockMs(value);
  }
}

/** DSP0268, Manager: `DateTime` carries its offset, which older BMCs put beside it only. */
export function clockMs({ DateTime, DateTimeLocalOffset }: Manager): number | undefined {
  if (DateTime === undefined) return undefined;
  const hasOffset = /(z|[+-]\d\d:?\d\d)$/i.test(DateTime.trim());
  const ms = Date.parse(hasOffset ? DateTime.trim() : `${DateTime.trim()}${DateTimeLocalOffset ?? "Z"}`);
  return Number.isNaN(ms) ? undefined : ms;
}
