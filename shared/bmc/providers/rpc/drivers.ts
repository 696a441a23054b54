import { BmcError } from "../../../contract/bmc-error.ts";
import type { BootDriver, BootRequest } from "../../operations/boot-port.ts";
import {
  type MediaDrive,
  type MediaDriver,
  type MediaImage,
  refuseBeyondUrls,
} from "../../operations/media.ts";
import type { PowerCommand, PowerDriver } from "../../operations/power.ts";
import type { RpcConsumer } from "./consumer.ts";
import type { RpcCall } from "./request-body.ts";

const STATES: Readonly<Record<PowerCommand, string>> = {
  on: "on",
  off: "off",
  "soft-off": "soft",
  cycle: "cycle",
  reset: "reset",
};

/** Power through the consumer's `getPowerState` and `setPowerState`. */
export const rpcPower = (consumer: RpcConsumer): PowerDriver => ({
  async read(signal) {
    const result = await consumer.read({ method: "getPowerState" }, signal);
    if (typeof result !== "string") {
      throw new BmcError("protocol", `getPowerState: expected a string as result, got ${describe(result)}`);
    }
    const state = result.trim().toLowerCase();
    return state === "on" || state === "off" ? state : "unknown";
  },
  // The protocol cannot ask what a consumer offers.
  plan: async (command) => `setPowerState ${STATES[command]}`,
  send: (command, signal) =>
    consumer.write({ method: "setPowerState", params: { state: STATES[command] } }, signal),
});

function describe(result: unknown): string {
  if (result === undefined || result === null) return "none";
  return Array.isArray(result) ? "a list" : `a value of type ${typeof result}`;
}

/** Sets the boot override through the consumer's `setBootDevice`. There is no call to read it. */
export const rpcBoot = (consumer: RpcConsumer): BootDriver => ({
  read: async () => undefined,
  plan: async (request) => `setBootDevice ${JSON.stringify(bootParams(request))}`,
  write: (request, signal) =>
    consumer.write({ method: "setBootDevice", params: bootParams(request) }, signal),
});

type ParamsOf<Method> = Extract<RpcCall, { method: Method; params: unknown }>["params"];

/** The parameters of a boot device. The protocol only distinguishes EFI; `keep` is sent as false, which is its default. */
function bootParams({ device, persistent, mode }: BootRequest): ParamsOf<"setBootDevice"> {
  return { device, persistent, efiBoot: mode === "uefi" };
}

/** Virtual media through the consumer's `setVirtualMedia`. Like in Rufio, an empty URL ejects. */
export function rpcMedia(consumer: RpcConsumer): MediaDriver {
  /** The kinds are those of Redfish (bmclib, `SetVirtualMedia`). */
  const paramsOf = (drive: MediaDrive | undefined, url = ""): ParamsOf<"setVirtualMedia"> => ({
    mediaUrl: url,
    kind: drive?.type === "usb" ? "USBStick" : "CD",
  });
  const refuse = (image: Partial<MediaImage>) => refuseBeyondUrls("the webhook", image);
  const set = (drive: MediaDrive | undefined, url: string | undefined, signal: AbortSignal) =>
    consumer.write({ method: "setVirtualMedia", params: paramsOf(drive, url) }, signal);
  return {
    read: async (_signal, drive) => {
      refuse({ ...(drive ? { drive } : {}) });
      return undefined;
    },
    check: async (image) => refuse(image),
    plan: async (image, _signal, drive) =>
      `setVirtualMedia ${JSON.stringify(paramsOf(image?.drive ?? drive, image?.url))}`,
    insert: async (image, signal) => {
      refuse(image);
      await set(image.drive, image.url, signal);
    },
    eject: (signal, drive) => set(drive, undefined, signal),
  };
}
