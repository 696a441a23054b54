import * as z from "zod/mini";
import type { Clock } from "../../../clock.ts";
import type { SessionPrivilege } from "../../operations/access.ts";
import type { Drivers } from "../../operations/table.ts";
import { askingAgain, type CommandChannel } from "./commands/channel.ts";
import { LanChannel } from "./commands/lan-channel.ts";
import { IpmiBoot } from "./drivers/boot-driver.ts";
import { ipmiIndicator } from "./drivers/indicator-driver.ts";
import { IpmiInventory } from "./drivers/inventory-driver.ts";
import { ipmiManager } from "./drivers/manager-driver.ts";
import { ipmiNetwork } from "./drivers/network-driver.ts";
import { ipmiNmi, ipmiPower } from "./drivers/power-driver.ts";
import { IpmiPowerHistory } from "./drivers/power-history-driver.ts";
import { ipmiPowerLimit } from "./drivers/power-limit-driver.ts";
import { ipmiRestore } from "./drivers/restore-driver.ts";
import { IpmiSel } from "./drivers/sel-driver.ts";
import { IpmiSensors } from "./drivers/sensors-driver.ts";
import { ipmiSol } from "./drivers/sol-driver.ts";
import { IpmiUsers } from "./drivers/user-driver.ts";
import { SdrRepository } from "./records/sdr-repository.ts";

/** The capabilities of IPMI besides power and boot. It has no commands for media, time servers or screenshots. */
export const IPMI_CAPABILITIES = [
  "users",
  "manager",
  "network",
  "sel",
  "sol",
  "nmi",
  "inventory",
  "indicator",
  "restore",
  "powerlimit",
  "powerhistory",
  "sensors",
] as const;
export type IpmiCapability = (typeof IPMI_CAPABILITIES)[number];

export interface IpmiDrivers extends Pick<Drivers, "power" | IpmiCapability> {
  readonly boot: IpmiBoot;
}

interface IpmiDriverContext {
  readonly clock: Clock;
  readonly hint: IpmiHint;
  /** The privilege level that the channel's sessions request. */
  readonly privilege: SessionPrivilege;
  /** The address of the controller behind the BMC, if the channel leads to one. */
  readonly address?: number | undefined;
}

/** All drivers of IPMI, on any channel for commands. */
export function ipmiDrivers(
  carrier: CommandChannel,
  { clock, hint, privilege, address }: IpmiDriverContext,
): IpmiDrivers {
  const channel = askingAgain(carrier, clock);
  const records = new SdrRepository(channel);
  const lan = new LanChannel(channel);
  const sel = new IpmiSel(channel, clock, records);
  return {
    power: ipmiPower(channel),
    boot: new IpmiBoot(channel, hint.manufacturer),
    users: new IpmiUsers(channel, lan, { privilege, clock }),
    manager: ipmiManager(channel),
    network: ipmiNetwork(channel, lan, clock),
    sel,
    sol: ipmiSol(channel),
    nmi: ipmiNmi(channel),
    inventory: new IpmiInventory(channel),
    indicator: ipmiIndicator(channel),
    restore: ipmiRestore(channel),
    powerlimit: ipmiPowerLimit(channel),
    powerhistory: new IpmiPowerHistory(channel, clock, sel, records),
    sensors: new IpmiSensors(channel, records, address),
  };
}

const IpmiHint = z.object({
  cipherSuite: z.optional(z.union([z.literal(3), z.literal(17)])),
  /** IANA enterprise number. */
  manufacturer: z.optional(z.int()),
});
export type IpmiHint = z.infer<typeof IpmiHint>;

/** Parses a hint; anything else counts as an empty one. */
export function parseHint(hint: unknown): IpmiHint {
  const parsed = IpmiHint.safeParse(hint);
  return parsed.success ? parsed.data : {};
}
