import * as z from "zod/mini";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { BootDevice, BootMode } from "../../../contract/vocabulary.ts";
import { defined } from "../../../defined.ts";
import type { BootDriver, BootOverride, BootRequest } from "../../operations/boot-port.ts";
import { describeRequest, type IronicRequest } from "./api.ts";
import type { IronicNode } from "./node.ts";
import type { NodeState } from "./node-state.ts";
import { orUndefined } from "./optional-reading.ts";

/** The names that Ironic uses (ironic/common/boot_devices.py). */
const DEVICES: Readonly<Partial<Record<BootDevice, string>>> = {
  pxe: "pxe",
  disk: "disk",
  cdrom: "cdrom",
  bios: "bios",
  safe: "safe",
  floppy: "floppy",
  "uefi-http": "uefihttp",
};
const DEVICE_NAMES = new Map(Object.entries(DEVICES).map(([device, name]) => [name, device as BootDevice]));

const MODES: Readonly<Record<BootMode, string>> = { uefi: "uefi", legacy: "bios" };
const BOOT_MODE_MINOR = 76;

const BootDeviceState = z.object({
  boot_device: z.optional(z.nullable(z.string())),
  persistent: z.optional(z.nullable(z.boolean())),
});

export function ironicBoot(node: IronicNode): BootDriver {
  const devicePath = node.path("/management/boot_device");

  function deviceRequest({ device, persistent }: BootRequest): IronicRequest {
    const name = DEVICES[device];
    if (name !== undefined) {
      return { method: "PUT", path: devicePath, body: { boot_device: name, persistent } };
    }
    const remedy = device === "none" ? ": set another one, such as disk" : "";
    throw new BmcError("unsupported", `Ironic cannot set the boot device ${device}${remedy}`);
  }

  function modeRequest({ mode }: BootRequest, state: NodeState): IronicRequest | undefined {
    if (mode === "keep" || state.boot_mode === MODES[mode]) return undefined;
    node.api.require(BOOT_MODE_MINOR, "boot modes");
    return { method: "PUT", path: node.path("/states/boot_mode"), body: { target: MODES[mode] } };
  }

  return {
    async read(signal) {
      const answer = await orUndefined(node.api.call({ method: "GET", path: devicePath }, signal));
      if (answer === undefined) return undefined;
      const parsed = BootDeviceState.safeParse(answer);
      if (!parsed.success)
        throw new BmcError("protocol", `GET /v1${devicePath} did not return a boot device`);
      return overrideOf(parsed.data, await node.recent(signal));
    },
    async plan(request, signal) {
      const device = deviceRequest(request);
      const mode = modeRequest(request, await node.permit(signal));
      return [mode, device]
        .flatMap((step) => step ?? [])
        .map(describeRequest)
        .join(", ");
    },
    async write(request, signal) {
      const device = deviceRequest(request);
      const mode = modeRequest(request, await node.permit(signal));
      if (mode) await node.change(mode, signal);
      await node.api.call(device, signal);
    },
  };
}

function overrideOf(
  { boot_device: name, persistent }: z.infer<typeof BootDeviceState>,
  { boot_mode: mode }: NodeState,
): BootOverride {
  return {
    // Null means unknown. Drivers also return it if there is no override.
    device: DEVICE_NAMES.get(name ?? "") ?? "unknown",
    ...defined({
      persistent: persistent ?? undefined,
      mode: mode === "uefi" ? ("uefi" as const) : mode === "bios" ? ("legacy" as const) : undefined,
    }),
  };
}
