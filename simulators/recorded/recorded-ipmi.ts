import { randomBytes } from "node:crypto";
import { BootDevice } from "../../shared/contract/vocabulary.ts";
import { defined } from "../../shared/defined.ts";
import type { RecordedCommand, RecordedExchange, RecordedIpmi } from "../../shared/recording/recording.ts";
import type { IpmiBmc, IpmiBmcOptions } from "../ipmi/bmc.ts";
import type { SimulatedFru } from "../ipmi/fru.ts";
import type { SimulatedUser } from "../ipmi/users.ts";
import type { SimulatedMachine } from "../machine.ts";
import { Replay } from "./replay.ts";
import { isBody } from "./resources.ts";

const PRIVILEGES = { administrator: "administrator", operator: "operator", readonly: "user" } as const;
const RESTORE_POLICIES = ["always-off", "last-state", "always-on"] as const;
const USER_SLOTS = 16;
/** Refusals of these would keep every session from opening. */
const SESSION = /Session|Channel (Authentication|Cipher)|RAKP/;

export interface RecordedLogin {
  readonly username: string;
  readonly password: string;
}

/** What the simulator's BMC must be to be the recorded one. */
export function ipmiOptions(
  { deviceId, cipherSuites, sdr, readings = {}, thresholds = {}, sel, fru, users = [] }: RecordedIpmi,
  { username, password }: RecordedLogin,
): Omit<IpmiBmcOptions, "machine"> {
  const others = users.flatMap(({ name, role, enabled }): SimulatedUser[] => {
    if (name === username) return [];
    const privilege = PRIVILEGES[role as keyof typeof PRIVILEGES] ?? "user";
    return [{ name: name.slice(0, 16), password: randomBytes(9).toString("base64url"), privilege, enabled }];
  });
  const own = users.find(({ name }) => name === username);
  const privilege = PRIVILEGES[own?.role as keyof typeof PRIVILEGES] ?? "administrator";
  const byNumber = (answers: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(answers).map(([number, text]) => [Number(number), bytesOf(text)]));
  const suiteRecords = cipherSuites === undefined ? undefined : bytesOf(cipherSuites);
  return {
    users: [{ name: username.slice(0, 16), password, privilege }, ...others].slice(0, USER_SLOTS - 1),
    userSlots: USER_SLOTS,
    ...defined({
      deviceId: deviceId === undefined ? undefined : bytesOf(deviceId),
      fru: fru && shortened(fru),
      cipherSuiteRecords: suiteRecords,
      cipherSuites: suiteRecords && grantedSuites(suiteRecords),
    }),
    sdr: {
      present: (sdr?.length ?? 0) > 0,
      records: (sdr ?? []).map(bytesOf).filter((record) => record.length >= 5),
      ...{ readings: byNumber(readings), thresholds: byNumber(thresholds) },
    },
    log: { records: (sel ?? []).map(bytesOf).filter((record) => record.length === 16) },
  };
}

const STANDARD_RECORD = 0xc0;

/** Those of the simulator's suites that are listed (IPMI 2.0 table 22-18); undefined, which is all of them, if none is. */
function grantedSuites(records: Buffer): readonly (3 | 17)[] | undefined {
  const listed = [...records].flatMap((byte, index) => (byte === STANDARD_RECORD ? records[index + 1] : []));
  const granted = ([3, 17] as const).filter((id) => listed.includes(id));
  return granted.length === 0 ? undefined : granted;
}

/** An interface that shows nothing. */
const NO_NETWORK = { mode: "unspecified", address: "0.0.0.0", gateway: "0.0.0.0", vlan: 0 } as const;
const LAN_PARAMETERS = /^[GS]et LAN Configuration Parameters$/;
const [NO_PARAMETER, MAC, MASK, VLAN] = [0x80, 5, 6, 20];

/** LAN parameters that an interface does not have (IPMI 2.0 table 23-4). Without an address none shows its mask. */
function lackingParameters(network: RecordedIpmi["network"]): readonly number[] {
  if (!network) return [];
  return [
    ...(network.mac === undefined ? [MAC] : []),
    ...(network.prefix === undefined && network.address !== undefined ? [MASK] : []),
    ...(network.vlan === undefined ? [VLAN] : []),
  ];
}

/** Puts the machine into the recorded state. */
export function adoptState(
  { chassis, restart, network, boot }: RecordedIpmi,
  machine: SimulatedMachine,
): void {
  const [state = 1, lastPowerEvent = 0] = chassis === undefined ? [] : bytesOf(chassis);
  const [restartCause = 0] = restart === undefined ? [] : bytesOf(restart);
  Object.assign(machine, { lastPowerEvent, restartCause });
  machine.force((state & 1) === 1 ? "on" : "off");
  machine.restorePolicy = RESTORE_POLICIES[(state >> 5) & 3] ?? "always-off";
  if (network) machine.network = { ...machine.network, ...NO_NETWORK, ...defined(network) };
  const device = BootDevice.safeParse(boot?.device);
  if (!boot || !device.success) return;
  const enabled = device.data === "none" ? "disabled" : boot.persistent ? "continuous" : "once";
  machine.override = { device: device.data, enabled, mode: boot.mode === "legacy" ? "legacy" : "uefi" };
}

/** Refuses what was refused, and answers as the recorded exchange did. */
export function replayOn(
  bmc: IpmiBmc,
  { refused = {}, network }: RecordedIpmi,
  commands: readonly RecordedCommand[],
  speed: number,
): void {
  const lacking = lackingParameters(network);
  bmc.faults.refuses = (name, data) => {
    if (SESSION.test(name)) return undefined;
    const isLacking = LAN_PARAMETERS.test(name) && lacking.includes(data[1] ?? 0);
    return isLacking ? NO_PARAMETER : refused[name];
  };
  const names = new Map(commands.map((command) => [`${command.netFn}/${command.code}`, command.command]));
  const replay = new Replay(commands.flatMap(exchangeOf), speed);
  bmc.faults.answers = ({ netFn, command, data }) => {
    const name = names.get(`${netFn}/${command}`);
    if (name === undefined || SESSION.test(name)) return undefined;
    const body = replay.play(requestOf(name, netFn, command, data.toString("hex")), undefined)?.answer.body;
    if (!isBody(body)) return undefined;
    return { code: Number(body["code"]), data: bytesOf(String(body["data"])) };
  };
}

/** A command as the replay of exchanges knows it. Without an answer in the recording, the machine answers; a refusal has no data. */
function exchangeOf({
  command,
  netFn,
  code,
  data,
  atMs,
  ms,
  completionCode,
  answer,
}: RecordedCommand): RecordedExchange[] {
  if (completionCode === undefined || data === undefined || SESSION.test(command)) return [];
  if (answer === undefined && completionCode === 0) return [];
  const body = { code: completionCode, data: answer ?? "" };
  return [{ request: requestOf(command, netFn, code, data), atMs, ms, status: 200, body }];
}

function requestOf(name: string, netFn: number, code: number, data: string): string {
  return `${/^(Get|Read|Reserve)/.test(name) ? "GET" : "SET"} /${netFn}/${code}/${data}`;
}

/** A field of a FRU holds 63 bytes. */
function shortened(fru: NonNullable<RecordedIpmi["fru"]>) {
  const entries = Object.entries(fru).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text.slice(0, 60)]],
  );
  return Object.fromEntries(entries) as Partial<SimulatedFru>;
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "hex");
}
