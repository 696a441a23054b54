import type { NmiDriver } from "../../../operations/nmi.ts";
import type { PowerDriver } from "../../../operations/power.ts";
import { type CommandChannel, request } from "../commands/channel.ts";
import {
  chassisControl,
  describeChassisControl,
  GET_CHASSIS_STATUS,
  parseChassisStatus,
} from "../commands/chassis.ts";

/** Power through Get Chassis Status and Chassis Control (IPMI 2.0 section 28). */
export const ipmiPower = (channel: CommandChannel): PowerDriver => ({
  read: async (signal) => parseChassisStatus(await request(channel, GET_CHASSIS_STATUS, signal)),
  // IPMI cannot be asked what a BMC offers.
  plan: async (command) => describeChassisControl(command),
  async send(command, signal) {
    await request(channel, chassisControl(command), signal);
  },
});

/** The diagnostic interrupt through Chassis Control (IPMI 2.0 section 28.3). */
export const ipmiNmi = (channel: CommandChannel): NmiDriver => ({
  // Chassis Control cannot be asked what it accepts.
  offered: async () => undefined,
  plan: async () => describeChassisControl("nmi"),
  async send(signal) {
    await request(channel, chassisControl("nmi"), signal);
  },
});
