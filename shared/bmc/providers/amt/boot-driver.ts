import { BmcError } from "../../../contract/bmc-error.ts";
import type { BootDriver, BootOverride, BootRequest } from "../../operations/boot-port.ts";
import {
  armedOverride,
  BOOT_CONFIGURATION,
  chosenSource,
  clearedSettings,
  isArmed,
  PXE_BOOT,
  setOptions,
} from "./boot-override.ts";
import { BOOT_MEANINGS, checkReturnValue } from "./fault.ts";
import type { InputValue } from "./messages.ts";
import type { WsmanClient } from "./wsman.ts";
import { childOf, type XmlElement } from "./xml.ts";

/** Roles of CIM_BootService.SetBootConfigRole; AMT has no others. */
const IS_NEXT_SINGLE_USE = 1;
const IS_NOT_NEXT = 32_768;

/** Sets one boot from the network through CIM_BootService (DSP1012), and removes it. AMT has no persistent override. */
export class AmtBoot implements BootDriver {
  readonly #wsman: WsmanClient;

  constructor(wsman: WsmanClient) {
    this.#wsman = wsman;
  }

  async read(signal: AbortSignal): Promise<BootOverride> {
    if (!isArmed(await this.#wsman.enumerate("CIM_ElementSettingData", signal))) return { device: "none" };
    const source = chosenSource(await this.#wsman.enumerate("CIM_OrderedComponent", signal));
    // The other options describe the boot only if there is no source.
    const settings = source === undefined ? await this.#wsman.get("AMT_BootSettingData", signal) : undefined;
    return armedOverride(source, settings);
  }

  async plan(request: BootRequest, signal: AbortSignal): Promise<string> {
    refuseWhatAmtHasNot(request);
    if (request.device === "none") return `SetBootConfigRole ${IS_NOT_NEXT}, ChangeBootOrder (none)`;
    await checkConsent(this.#wsman, signal);
    return `SetBootConfigRole ${IS_NEXT_SINGLE_USE}, ChangeBootOrder ${PXE_BOOT.keys["InstanceID"]}`;
  }

  async write(request: BootRequest, signal: AbortSignal): Promise<void> {
    refuseWhatAmtHasNot(request);
    if (request.device === "none") {
      await this.#setRole(IS_NOT_NEXT, signal);
      await this.#changeOrder({}, signal);
      return;
    }
    await checkConsent(this.#wsman, signal);
    // Some versions refuse further changes while an old source is set, so it is removed first.
    await this.#changeOrder({}, signal);
    await this.#clearOptions(signal);
    await this.#setRole(IS_NEXT_SINGLE_USE, signal);
    await this.#changeOrder({ Source: PXE_BOOT }, signal);
  }

  async #clearOptions(signal: AbortSignal): Promise<void> {
    const settings = await this.#wsman.get("AMT_BootSettingData", signal);
    if (setOptions(settings).length === 0) return;
    await this.#wsman.put("AMT_BootSettingData", clearedSettings(settings), signal);
  }

  async #setRole(role: number, signal: AbortSignal): Promise<void> {
    const input = { BootConfigSetting: BOOT_CONFIGURATION, Role: role };
    await this.#invoke("CIM_BootService", "SetBootConfigRole", input, signal);
  }

  async #changeOrder(input: Readonly<Record<string, InputValue>>, signal: AbortSignal): Promise<void> {
    await this.#invoke("CIM_BootConfigSetting", "ChangeBootOrder", input, signal);
  }

  async #invoke(
    resource: "CIM_BootService" | "CIM_BootConfigSetting",
    method: string,
    input: Readonly<Record<string, InputValue>>,
    signal: AbortSignal,
  ): Promise<void> {
    const output = await this.#wsman.invoke(resource, method, input, "setting", signal);
    checkReturnValue(output, method, BOOT_MEANINGS);
  }
}

function refuseWhatAmtHasNot({ device, persistent, mode }: BootRequest): void {
  if (device === "none") return;
  const problem =
    device !== "pxe"
      ? `sets pxe and none, not ${device}`
      : persistent
        ? "overrides one boot, not every boot"
        : mode !== "keep"
          ? `does not choose the boot mode, so it cannot be ${mode}`
          : undefined;
  if (problem) throw new BmcError("unsupported", `Intel AMT ${problem}`);
}

/** IPS_OptInService.OptInRequired: consent is needed for everything. Devices in client control mode report this as well. */
const REQUIRED_FOR_ALL = "4294967295";
/** IPS_OptInService.OptInState: the user's code was received, or a session uses it. */
const GIVEN = ["3", "4"];

/**
 * Throws `auth` if the device requires its user's consent and does not have it. It would accept boot options anyway, with
 * ReturnValue 0, and ignore them (device-management-toolkit/deployment issue 291).
 */
async function checkConsent(wsman: WsmanClient, signal: AbortSignal): Promise<void> {
  let service: XmlElement;
  try {
    service = await wsman.get("IPS_OptInService", signal);
  } catch (thrown) {
    // Versions before AMT 6 have no consent.
    if (BmcError.from(thrown).class === "unsupported") return;
    throw thrown;
  }
  const required = childOf(service, "OptInRequired")?.text === REQUIRED_FOR_ALL;
  if (!required || GIVEN.includes(childOf(service, "OptInState")?.text ?? "")) return;
  throw new BmcError(
    "auth",
    "the device accepts boot options only with user consent, which was not given: set it up in admin control mode, or disable user opt-in",
    { refused: "right" },
  );
}
