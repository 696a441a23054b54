import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { ipv4Mask, ipv4Number, ipv4Prefix } from "../../../../ip-address.ts";
import type { NetworkChange } from "../../../operations/network-port.ts";
import type { NetworkSettings } from "../../../operations/network-settings.ts";
import { type Answer, dataOf } from "./channel.ts";
import { type Command, ipmiCommand, NetFn } from "./command.ts";
import { COMPLETED } from "./completion-code.ts";

/** LAN configuration parameters (IPMI 2.0 table 23-4). */
const PARAMETER = { progress: 0, address: 3, source: 4, mac: 5, mask: 6, gateway: 12, vlan: 20 } as const;
export type LanParameter = keyof typeof PARAMETER;

/** The parameters to read. */
const READ = ["source", "address", "mask", "gateway", "vlan", "mac"] as const;
const SIZES = { source: 1, address: 4, mask: 4, gateway: 4, vlan: 2, mac: 6 } as const;

/** Modes by the code of the address source. */
const MODES = [undefined, "static", "dhcp", "other", "other"] as const;
const NO_ADDRESS = "0.0.0.0";
const VLAN_ENABLED = 0x80;

/** Get LAN Configuration Parameters (section 23.2). */
export function getParameter(channel: number, name: LanParameter): Command {
  return ipmiCommand("Get LAN Configuration Parameters", NetFn.transport, 0x02, {
    data: Uint8Array.of(channel, PARAMETER[name], 0, 0),
    needs: "operator",
    refusals: { 128: { class: "unsupported", reason: `the BMC does not have parameter ${PARAMETER[name]}` } },
  });
}

/** Set LAN Configuration Parameters (section 23.1). */
function setParameter(channel: number, name: LanParameter, value: readonly number[]): Command {
  return ipmiCommand("Set LAN Configuration Parameters", NetFn.transport, 0x01, {
    data: Uint8Array.of(channel, PARAMETER[name], ...value),
    needs: "administrator",
    effect: "set",
    refusals: {
      128: { class: "unsupported", reason: `the BMC does not have parameter ${PARAMETER[name]}` },
      129: {
        class: "busy",
        reason:
          "another console is setting the LAN parameters, or has broken off; if there is none, free them: " +
          `ipmitool raw 0x0c 0x01 0x0${channel.toString(16)} 0x00 0x00`,
      },
      130: { class: "unsupported", reason: `parameter ${PARAMETER[name]} is read-only` },
    },
  });
}

/**
 * Sets the state of parameter 0. A BMC may lack the parameter or its last state, and then applies each parameter
 * immediately.
 */
export const setComplete = (channel: number): Command => setParameter(channel, "progress", [0]);
export const setInProgress = (channel: number): Command => setParameter(channel, "progress", [1]);
export const commitWrite = (channel: number): Command => setParameter(channel, "progress", [2]);

export const getLanParameters = (channel: number): readonly Command[] =>
  READ.map((name) => getParameter(channel, name));

/**
 * Parses the answers to `getLanParameters`. Source and address are mandatory; other parameters that the BMC refuses are
 * absent.
 */
export function parseLanParameters(channel: number, answers: readonly Answer[]): NetworkSettings {
  const values = Object.fromEntries(READ.map((name, index) => [name, parameterOf(name, answers[index])]));
  const { source, address, mask, gateway, vlan, mac } = values;
  const prefix = ipv4Prefix(textOf(mask) ?? "");
  const hasAddress = textOf(address) !== undefined;
  return {
    id: String(channel),
    ...defined({
      mac: mac && [...mac].map((byte) => byte.toString(16).padStart(2, "0")).join(":"),
      mode: MODES[(source?.[0] ?? 0) & 0x0f],
      address: textOf(address),
      prefix: hasAddress ? prefix : undefined,
      gateway: textOf(gateway),
      vlan: vlan && vlanOf(vlan),
    }),
  };
}

function parameterOf(name: (typeof READ)[number], answer: Answer | undefined): Buffer | undefined {
  if (!answer) throw new BmcError("internal", "Get LAN Configuration Parameters: no answer was kept");
  const isOptional = name !== "source" && name !== "address";
  if (answer.completionCode !== COMPLETED && isOptional) return undefined;
  const value = dataOf(answer).subarray(1);
  if (value.length >= SIZES[name]) return value.subarray(0, SIZES[name]);
  // Some BMCs answer like this for an optional parameter that they do not have.
  if (value.length === 0 && isOptional) return undefined;
  throw new BmcError(
    "protocol",
    `Get LAN Configuration Parameters: parameter ${PARAMETER[name]} is too short`,
  );
}

function textOf(bytes: Buffer | undefined): string | undefined {
  const text = bytes?.join(".");
  return text === NO_ADDRESS ? undefined : text;
}

function vlanOf(bytes: Buffer): number | "off" {
  const word = bytes.readUInt16LE(0);
  return (word & 0x8000) === 0 ? "off" : word & 0x0fff;
}

/** One parameter to send, with a line for people. */
export interface LanChange {
  readonly parameter: LanParameter;
  readonly value: readonly number[];
  readonly command: Command;
  readonly text: string;
}

/**
 * The parameters that change an interface, without the begin and end. The address comes last, because BMCs that apply each
 * parameter immediately lose their session with it. The source comes first, because many refuse addresses while they use
 * DHCP. A BMC forgets the values from DHCP when the source becomes static, so everything is then sent, even values that
 * equal the lease. Some overwrite the gateway with the mask, so it is sent after each mask.
 */
export function lanChanges({ before, target }: NetworkChange): readonly LanChange[] {
  const isStatic = target.mode === "static";
  const isNewMode = target.mode !== before.mode;
  const differs = (field: "prefix" | "gateway" | "address") =>
    isStatic && (target[field] !== before[field] || (isNewMode && target[field] !== undefined));
  const sendsMask = differs("prefix");
  const sendsGateway = differs("gateway") || (sendsMask && target.gateway !== undefined);
  return [
    ...(isNewMode ? [changeTo("source", target)] : []),
    ...(sendsMask ? [changeTo("mask", target)] : []),
    ...(sendsGateway ? [changeTo("gateway", target)] : []),
    ...(target.vlan === before.vlan ? [] : [changeTo("vlan", target)]),
    ...(differs("address") ? [changeTo("address", target)] : []),
  ];
}

/** The parameters that undo these changes: the old values, the address first, while the source is still static. */
export function changesBack({ before }: NetworkChange, taken: readonly LanChange[]): readonly LanChange[] {
  const { mode } = before;
  if (mode !== "static" && mode !== "dhcp" && taken.some(({ parameter }) => parameter === "source"))
    throw new BmcError("unsupported", "the address source that it had cannot be set");
  return taken.map(({ parameter }) => changeTo(parameter, before)).reverse();
}

const SOURCES = { static: 1, dhcp: 2 } as const;

function changeTo(parameter: LanParameter, settings: NetworkSettings): LanChange {
  const { mode, prefix, gateway = NO_ADDRESS, address = NO_ADDRESS, vlan } = settings;
  const mask = ipv4Mask(prefix ?? 0);
  const of: Readonly<Record<string, readonly [readonly number[], string]>> = {
    source: [[SOURCES[mode === "dhcp" ? "dhcp" : "static"]], `address source ${mode}`],
    mask: [bytesOf(mask), `mask ${mask}`],
    gateway: [bytesOf(gateway), `gateway ${gateway}`],
    vlan: [vlanBytes(vlan), `VLAN ${vlan}`],
    address: [bytesOf(address), `address ${address}`],
  };
  const [value, text] = of[parameter] ?? [[], parameter];
  return { parameter, value, command: setParameter(Number(settings.id), parameter, value), text };
}

function bytesOf(address: string): readonly number[] {
  const number = ipv4Number(address);
  if (number === undefined) throw new BmcError("internal", `${address} was not checked`);
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff);
}

function vlanBytes(vlan: NetworkSettings["vlan"]): readonly number[] {
  return typeof vlan === "number" ? [vlan & 0xff, VLAN_ENABLED | (vlan >> 8)] : [0, 0];
}
