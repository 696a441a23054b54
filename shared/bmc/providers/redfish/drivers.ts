import type { Connection } from "../../../contract/connection.ts";
import type { Endpoint } from "../../http/endpoint.ts";
import type { DriverFactories, ProviderContext } from "../../operations/provider.ts";
import type { Capability } from "../../operations/table.ts";
import { redfishBios } from "./drivers/bios.ts";
import { RedfishBoot } from "./drivers/boot.ts";
import { redfishBootOrder } from "./drivers/bootorder.ts";
import { RedfishConsole } from "./drivers/console.ts";
import { redfishErase } from "./drivers/erase.ts";
import { redfishFirmware } from "./drivers/firmware.ts";
import { redfishHttpBoot } from "./drivers/httpboot.ts";
import { redfishHttps } from "./drivers/https.ts";
import { redfishIndicator } from "./drivers/indicator.ts";
import { RedfishInventory } from "./drivers/inventory.ts";
import { redfishManager } from "./drivers/manager.ts";
import { RedfishMedia } from "./drivers/media.ts";
import { redfishNetwork } from "./drivers/network.ts";
import { redfishNtp } from "./drivers/ntp.ts";
import { redfishNmi, redfishPower } from "./drivers/power.ts";
import { RedfishPowerHistory } from "./drivers/powerhistory.ts";
import { redfishPowerLimit } from "./drivers/powerlimit.ts";
import { redfishRaid } from "./drivers/raid.ts";
import { redfishRestore } from "./drivers/restore.ts";
import { redfishScreenshot } from "./drivers/screenshot.ts";
import { redfishSecureBoot } from "./drivers/secureboot.ts";
import { redfishSecureBootKeys } from "./drivers/securebootkeys.ts";
import { RedfishSel } from "./drivers/sel.ts";
import { RedfishSensors } from "./drivers/sensors.ts";
import { RedfishUsers } from "./drivers/users.ts";
import type { Hint } from "./hint.ts";
import type { Resources } from "./resources/resources.ts";
import type { SystemReset } from "./resources/system-reset.ts";
import type { PasswordTrials } from "./service/password-trials.ts";

/** What a session has for its drivers. */
interface RedfishParts extends Resources {
  readonly reset: SystemReset;
  readonly trial: PasswordTrials;
  readonly endpoint: Endpoint;
  readonly connection: Connection;
  readonly context: Pick<ProviderContext, "nameOption">;
  readonly hint: Hint | undefined;
}

/** Everything that Redfish and its vendors' extensions can do. */
export const REDFISH_DRIVERS = {
  power: ({ system, reset }) => redfishPower(system, reset),
  boot: (parts) => new RedfishBoot(parts, parts.hint?.settings),
  manager: redfishManager,
  ntp: redfishNtp,
  media: (parts) => new RedfishMedia(parts, parts.hint?.media),
  users: (parts) => new RedfishUsers(parts, parts.hint?.accounts),
  sel: (parts) => new RedfishSel(parts, parts.hint?.sel),
  inventory: (parts) => new RedfishInventory(parts),
  firmware: redfishFirmware,
  bootorder: redfishBootOrder,
  httpboot: redfishHttpBoot,
  bios: redfishBios,
  secureboot: redfishSecureBoot,
  securebootkeys: redfishSecureBootKeys,
  indicator: redfishIndicator,
  restore: redfishRestore,
  powerlimit: redfishPowerLimit,
  powerhistory: (parts) => new RedfishPowerHistory(parts),
  sensors: (parts) => new RedfishSensors(parts),
  network: redfishNetwork,
  https: (parts) => redfishHttps(parts, parts.endpoint),
  raid: redfishRaid,
  erase: redfishErase,
  console: ({ system, connection, context }) => new RedfishConsole(system, connection, context),
  nmi: ({ reset }) => redfishNmi(reset),
  screenshot: redfishScreenshot,
} satisfies DriverFactories<RedfishParts>;

export type RedfishCapability = Extract<keyof typeof REDFISH_DRIVERS, Capability>;
