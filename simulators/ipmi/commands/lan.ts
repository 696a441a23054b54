import { ipv4Mask, ipv4Prefix } from "../../../shared/ip-address.ts";
import type { SimulatedMachine, SimulatedNetwork } from "../../machine.ts";
import { LEVELS } from "../users.ts";
import { type Commands, INVALID_FIELD, WRONG_LENGTH } from "./handler.ts";

const LAN_CHANNEL = 1;
const NO_PARAMETER = 0x80;
const IN_PROGRESS = 0x81;
const PROGRESS = 0;
const REVISION = 0x11;

const bytesOf = (address: string) => Buffer.from(address.split(".").map(Number));

/** The address sources by their code. */
const SOURCES: readonly SimulatedNetwork["mode"][] = ["unspecified", "static", "dhcp", "other"];

/** The value of each parameter (IPMI 2.0 table 23-4). */
const SHOWN: Readonly<Record<number, (network: SimulatedNetwork) => Buffer>> = {
  3: ({ address }) => bytesOf(address),
  4: ({ mode }) => Buffer.of(SOURCES.indexOf(mode)),
  5: ({ mac }) => Buffer.from(mac.replaceAll(":", ""), "hex"),
  6: ({ prefix }) => bytesOf(ipv4Mask(prefix)),
  12: ({ gateway }) => bytesOf(gateway),
  20: ({ vlan }) => Buffer.of(vlan & 0xff, (vlan > 0 ? 0x80 : 0) | (vlan >> 8)),
};

/** The change that each parameter makes; undefined for an invalid value. */
const CHANGED: Readonly<Record<number, (value: Buffer) => Partial<SimulatedNetwork> | undefined>> = {
  3: (value) => ({ address: value.join(".") }),
  4: (value) => (value[0] === 1 ? { mode: "static" } : value[0] === 2 ? { mode: "dhcp" } : undefined),
  6: (value) => {
    const prefix = ipv4Prefix(value.join("."));
    return prefix === undefined ? undefined : { prefix };
  },
  12: (value) => ({ gateway: value.join(".") }),
  20: (value) => ({ vlan: (value[1] ?? 0) & 0x80 ? value.readUInt16LE(0) & 0x0fff : 0 }),
};

/** The changes by machine that wait for "set complete". */
const pending = new WeakMap<SimulatedMachine, Partial<SimulatedNetwork>>();

/** The LAN commands (section 23). A change takes effect with "set complete". */
export const LAN_COMMANDS: Commands = {
  1: {
    name: "Set LAN Configuration Parameters",
    level: LEVELS.administrator,
    run: (data, { machine }) => {
      const [channel, parameter = 0xff, state] = data;
      if (channel !== LAN_CHANNEL) return { code: INVALID_FIELD };
      const change = pending.get(machine);
      if (parameter === PROGRESS) {
        if (state === 2) return { code: INVALID_FIELD };
        if (state === 1) {
          if (change) return { code: IN_PROGRESS };
          pending.set(machine, {});
        } else {
          pending.delete(machine);
          if (change && Object.keys(change).length > 0) machine.changeNetwork(change);
        }
        return {};
      }
      const read = CHANGED[parameter];
      const shown = SHOWN[parameter]?.(machine.network);
      if (!read || !shown) return { code: NO_PARAMETER };
      const value = data.subarray(2);
      if (value.length !== shown.length) return { code: WRONG_LENGTH };
      const changed = read(value);
      if (!changed) return { code: INVALID_FIELD };
      if (change) pending.set(machine, { ...change, ...changed });
      else machine.changeNetwork(changed);
      return {};
    },
  },
  2: {
    name: "Get LAN Configuration Parameters",
    level: LEVELS.operator,
    run: (data, { machine }) => {
      if (data.length !== 4) return { code: WRONG_LENGTH };
      const [channel = 0, parameter = 0xff] = data;
      if ((channel & 0x0f) !== LAN_CHANNEL) return { code: INVALID_FIELD };
      if (parameter === PROGRESS) return { data: Buffer.of(REVISION, pending.has(machine) ? 1 : 0) };
      const value = SHOWN[parameter]?.(machine.network);
      return value ? { data: Buffer.concat([Buffer.of(REVISION), value]) } : { code: NO_PARAMETER };
    },
  },
};
