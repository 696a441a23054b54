import { defined } from "../../../../defined.ts";
import type { BmcResetKind, ManagerDriver } from "../../../operations/manager.ts";
import { type CommandChannel, dataOf, request } from "../commands/channel.ts";
import { type Command, ipmiCommand, NetFn } from "../commands/command.ts";
import { COMPLETED } from "../commands/completion-code.ts";
import { GET_DEVICE_ID, GET_SYSTEM_GUID, parseDeviceId, parseGuid, vendorOf } from "../commands/device-id.ts";
import { GET_SEL_TIME, parseSelTime } from "../records/sel-commands.ts";
import { selTime } from "../records/sel-record.ts";

/** Cold Reset and Warm Reset (IPMI 2.0 sections 20.2 and 20.3). */
function resetBmc(kind: BmcResetKind): Command {
  return ipmiCommand(
    kind === "cold" ? "Cold Reset" : "Warm Reset",
    NetFn.app,
    kind === "cold" ? 0x02 : 0x03,
    { needs: "administrator", effect: "once" },
  );
}

/** The BMC itself. Its clock is that of the event log, the only one in IPMI. */
export const ipmiManager = (channel: CommandChannel): ManagerDriver => ({
  // There is no way to ask about either command without carrying it out.
  plan: async (kind) => resetBmc(kind).name,

  async reset(kind, signal) {
    await request(channel, resetBmc(kind), signal);
  },

  async info(signal) {
    const [device, guid] = await channel.run([GET_DEVICE_ID, GET_SYSTEM_GUID], signal);
    const id = device && parseDeviceId(dataOf(device));
    // The command is optional (IPMI 2.0 table G-1), so a refusal only means that it is missing.
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
  },

  async clockMs(signal) {
    const time = selTime(parseSelTime(await request(channel, GET_SEL_TIME, signal)));
    return time.kind === "since-epoch" ? time.ms : undefined;
  },
});
