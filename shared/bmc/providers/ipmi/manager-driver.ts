import { defined } from "../../../defined.ts";
import type { BmcInfo, BmcResetKind, ManagerDriver } from "../../operations/manager.ts";
import { type CommandChannel, dataOf, request } from "./channel.ts";
import { COMPLETED } from "./completion-code.ts";
import { GET_DEVICE_ID, parseDeviceId, vendorOf } from "./device-id.ts";
import { GET_SYSTEM_GUID, parseGuid } from "./guid.ts";
import { resetBmc } from "./manager.ts";
import { GET_SEL_TIME, parseSelTime } from "./sel-commands.ts";
import { selTime } from "./sel-time.ts";

/** The BMC itself. Its clock is the one of its event log, the only one that IPMI has. */
export class IpmiManager implements ManagerDriver {
  readonly #channel: CommandChannel;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  /** Neither can be asked about without being carried out. */
  async plan(kind: BmcResetKind): Promise<string> {
    return resetBmc(kind).name;
  }

  async reset(kind: BmcResetKind, signal: AbortSignal): Promise<void> {
    await request(this.#channel, resetBmc(kind), signal);
  }

  async info(signal: AbortSignal): Promise<BmcInfo> {
    const [device, guid] = await this.#channel.run([GET_DEVICE_ID, GET_SYSTEM_GUID], signal);
    const id = device && parseDeviceId(dataOf(device));
    // Optional (IPMI 2.0 table G-1), so that a refusal only means that there is none.
    const uuid = guid?.completionCode === COMPLETED ? parseGuid(guid.data) : undefined;
    return {
      ...(id && {
        vendor: vendorOf(id.manufacturer),
        model: `product 0x${id.product.toString(16).padStart(4, "0")}`,
        firmware: id.firmware,
        protocolVersion: id.ipmiVersion,
      }),
      ...defined({ uuid }),
    };
  }

  async clockMs(signal: AbortSignal): Promise<number | undefined> {
    const time = selTime(parseSelTime(await request(this.#channel, GET_SEL_TIME, signal)));
    return time.kind === "since-epoch" ? time.ms : undefined;
  }
}
