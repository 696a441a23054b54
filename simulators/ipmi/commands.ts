import { APP_COMMANDS } from "./commands/app.ts";
import { CHASSIS_COMMANDS } from "./commands/chassis.ts";
import { DCMI_COMMANDS } from "./commands/dcmi.ts";
import type { CommandHandler, Commands } from "./commands/handler.ts";
import { LAN_COMMANDS } from "./commands/lan.ts";
import { SENSOR_COMMANDS } from "./commands/sensors.ts";
import { SESSION_COMMANDS } from "./commands/session.ts";
import { STORAGE_COMMANDS } from "./commands/storage.ts";
import { USER_COMMANDS } from "./commands/users.ts";

const CHASSIS = 0x00;
const SENSOR = 0x04;
const APP = 0x06;
const STORAGE = 0x0a;
const TRANSPORT = 0x0c;
const GROUP = 0x2c;

const BY_NETWORK_FUNCTION: Readonly<Record<number, Commands>> = {
  [CHASSIS]: CHASSIS_COMMANDS,
  [SENSOR]: SENSOR_COMMANDS,
  [APP]: { ...APP_COMMANDS, ...SESSION_COMMANDS, ...USER_COMMANDS },
  [STORAGE]: STORAGE_COMMANDS,
  [TRANSPORT]: LAN_COMMANDS,
  [GROUP]: DCMI_COMMANDS,
};

export function findHandler(netFn: number, command: number): CommandHandler | undefined {
  return BY_NETWORK_FUNCTION[netFn]?.[command];
}
