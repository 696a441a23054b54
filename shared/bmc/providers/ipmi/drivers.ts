import * as z from "zod/mini";
import type { Clock } from "../../../clock.ts";
import type { SessionPrivilege } from "../../operations/access.ts";
import { type DriverFactories, makeDrivers } from "../../operations/provider.ts";
import type { Capability } from "../../operations/table.ts";
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

/** What a session has for its drivers. */
interface IpmiParts {
  readonly channel: CommandChannel;
  readonly lan: LanChannel;
  readonly records: SdrRepository;
  /** The power history reads the same log. */
  readonly sel: IpmiSel;
  readonly context: IpmiDriverContext;
}

/** Everything that IPMI can do through a program in between. It has no command for media, time servers or screenshots. */
export const IPMI_DRIVERS = {
  power: ({ channel }) => ipmiPower(channel),
  boot: ({ channel, context }) => new IpmiBoot(channel, context.hint.manufacturer),
  manager: ({ channel }) => ipmiManager(channel),
  users: ({ channel, lan, context }) => new IpmiUsers(channel, lan, context),
  sel: ({ sel }) => sel,
  inventory: ({ channel }) => new IpmiInventory(channel),
  indicator: ({ channel }) => ipmiIndicator(channel),
  restore: ({ channel }) => ipmiRestore(channel),
  powerlimit: ({ channel }) => ipmiPowerLimit(channel),
  powerhistory: ({ channel, sel, records, context }) =>
    new IpmiPowerHistory(channel, context.clock, sel, records),
  sensors: ({ channel, records, context }) => new IpmiSensors(channel, records, context.address),
  network: ({ channel, lan, context }) => ipmiNetwork(channel, lan, context.clock),
  sol: ({ channel }) => ipmiSol(channel),
  nmi: ({ channel }) => ipmiNmi(channel),
} satisfies DriverFactories<IpmiParts>;

export type IpmiCapability = Extract<keyof typeof IPMI_DRIVERS, Capability>;

interface IpmiDriverContext {
  readonly clock: Clock;
  readonly hint: IpmiHint;
  /** What the channel's sessions ask for. */
  readonly privilege: SessionPrivilege;
  /** The address of the controller behind the BMC that the channel leads to, if it does. */
  readonly address?: number | undefined;
}

/** The drivers of a session, over whatever carries the commands. */
export function ipmiDrivers(carrier: CommandChannel, context: IpmiDriverContext) {
  const channel = askingAgain(carrier, context.clock);
  const records = new SdrRepository(channel);
  const lan = new LanChannel(channel);
  const sel = new IpmiSel(channel, context.clock, records);
  return makeDrivers(IPMI_DRIVERS, { channel, lan, records, sel, context });
}

const IpmiHint = z.object({
  cipherSuite: z.optional(z.union([z.literal(3), z.literal(17)])),
  /** IANA enterprise number. */
  manufacturer: z.optional(z.int()),
});
export type IpmiHint = z.infer<typeof IpmiHint>;

/** Anything that is no hint reads as an empty one. */
export function parseHint(hint: unknown): IpmiHint {
  const parsed = IpmiHint.safeParse(hint);
  return parsed.success ? parsed.data : {};
}
