import { randomBytes } from "node:crypto";
import { BootDevice } from "../../shared/contract/vocabulary.ts";
import { defined } from "../../shared/defined.ts";
import { keptBytes } from "../../shared/recording/ipmi-request.ts";
import type { RecordedCommand, RecordedExchange, RecordedIpmi } from "../../shared/recording/recording.ts";
import type { IpmiBmc, IpmiBmcOptions } from "../ipmi/bmc.ts";
import type { SimulatedFru } from "../ipmi/fru.ts";
import type { SimulatedUser } from "../ipmi/users.ts";
import type { SimulatedMachine } from "../machine.ts";
import type { Answer } from "../redfish/answer.ts";
import { Replay } from "./replay.ts";
import { isBody } from "./resources.ts";

const PRIVILEGES = { administrator: "administrator", operator: "operator", readonly: "user" } as const;
const RESTORE_POLICIES = ["always-off", "last-state", "always-on"] as const;
const USER_SLOTS = 16;
/** Commands for opening a session, whose refusal would prevent every session. */
const SESSION = /Session|Channel (Authentication|Cipher)|RAKP/;

export interface RecordedLogin {
  readonly username: string;
  readonly password: string;
}

/** Returns the options with which the simulated BMC behaves like the recorded one. */
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
      keepsIds: true,
      records: (sdr ?? []).map(bytesOf).filter((record) => record.length >= 5),
      readings: byNumber(readings),
      thresholds: byNumber(thresholds),
    },
    log: { records: (sel ?? []).map(bytesOf).filter((record) => record.length === 16), keepsIds: true },
  };
}

const STANDARD_RECORD = 0xc0;

/**
 * Returns the simulator's cipher suites that the records list (IPMI 2.0 table 22-18). Returns undefined, which means all, if
 * none is listed.
 */
function grantedSuites(records: Buffer): readonly (3 | 17)[] | undefined {
  const listed = [...records].flatMap((byte, index) => (byte === STANDARD_RECORD ? records[index + 1] : []));
  const granted = ([3, 17] as const).filter((id) => listed.includes(id));
  return granted.length === 0 ? undefined : granted;
}

/** The settings of an interface that shows nothing. */
const NO_NETWORK = { mode: "unspecified", address: "0.0.0.0", gateway: "0.0.0.0", vlan: 0 } as const;
const LAN_PARAMETERS = /^[GS]et LAN Configuration Parameters$/;
const [NO_PARAMETER, MAC, MASK, VLAN] = [0x80, 5, 6, 20];

/**
 * Returns the LAN parameters that an interface does not have (IPMI 2.0 table 23-4). Without an address, it also lacks the
 * mask.
 */
function lackingParameters(network: RecordedIpmi["network"]): readonly number[] {
  if (!network) return [];
  return [
    ...(network.mac === undefined ? [MAC] : []),
    ...(network.prefix === undefined && network.address !== undefined ? [MASK] : []),
    ...(network.vlan === undefined ? [VLAN] : []),
  ];
}

/** Sets the machine to the recorded state. */
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

/** Refuses what was refused, and answers like the recorded exchange. */
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
  const replay = new Replay(commands.map(untilAnswered).flatMap(exchangeOf), speed);
  const isLost = (answer: Answer | undefined) => {
    if (answer?.drops === undefined) return false;
    if (NO_SERVICE.test(answer.drops)) bmc.stop(answer.delayMs ?? 0);
    return true;
  };
  bmc.faults.shakes = (name) => {
    const answer = replay.play(handshakeOf(name), undefined)?.answer;
    if (isLost(answer)) return "lost";
    return typeof answer?.body === "number" ? answer.body : undefined;
  };
  bmc.faults.answers = ({ netFn, command: code, data }) => {
    const command = names.get(`${netFn}/${code}`);
    const request = command === undefined ? undefined : requestOf(command, { netFn, code }, data);
    const answer = request === undefined ? undefined : replay.play(request, undefined)?.answer;
    if (isLost(answer)) return { isLost: true };
    if (!isBody(answer?.body)) return undefined;
    return { code: Number(answer.body["code"]), data: bytesOf(String(answer.body["data"])) };
  };
}

/** The message when the BMC's host refuses the port. */
const NO_SERVICE = /connection refused/;

/** Returns how long the port was refused until the service was available again. */
function untilAnswered(one: RecordedCommand, _: number, all: readonly RecordedCommand[]): RecordedCommand {
  if (!NO_SERVICE.test(one.error ?? "")) return one;
  const answered = all.filter(({ atMs, completionCode }) => atMs > one.atMs && completionCode !== undefined);
  return { ...one, ms: Math.min(...answered.map(({ atMs }) => atMs)) - one.atMs };
}

const HANDSHAKE = ["Open Session", "RAKP1", "RAKP3"];
/**
 * The statuses with which a handshake is refused because of the user or the cipher suite; the simulated machine has its own
 * users and suites (IPMI 2.0 table 13-15).
 */
const OWN_STATUSES = [0x00, 0x04, 0x05, 0x09, 0x0a, 0x0d, 0x0f, 0x10, 0x11];
/** Commands of the console, which the simulated machine has on its own port. */
const PAYLOAD = /^(Activate|Deactivate) Payload$/;
/** Marks what the machine answers itself. */
const OWN = "own";

/**
 * Converts a command to the form that the replay knows. If the bytes of a successful answer are missing, the machine
 * answers.
 */
function exchangeOf(one: RecordedCommand): RecordedExchange[] {
  const { command, netFn, data, atMs, ms, completionCode, answer, error } = one;
  const isHandshake = HANDSHAKE.includes(command);
  const request = isHandshake
    ? handshakeOf(command)
    : data !== undefined && requestOf(command, { netFn, code: one.code }, bytesOf(data));
  if (!request || (completionCode === undefined && error === undefined)) return [];
  const times = { request, atMs, ms };
  if (completionCode === undefined) return [{ ...times, error }];
  const isOwn = isHandshake
    ? OWN_STATUSES.includes(completionCode)
    : completionCode === 0 && (answer === undefined || PAYLOAD.test(command));
  const refused = isHandshake ? completionCode : { code: completionCode, data: answer ?? "" };
  return [{ ...times, status: 200, body: isOwn ? OWN : refused }];
}

const handshakeOf = (message: string) => `GET /handshake/${message}`;

/** Returns undefined if the recording has no bytes of the command. */
function requestOf(
  command: string,
  asked: Parameters<typeof keptBytes>[0],
  data: Buffer,
): string | undefined {
  const { netFn, code } = asked;
  const kept = SESSION.test(command) ? undefined : keptBytes(asked, data);
  const method = /^(Get|Read|Reserve)/.test(command) ? "GET" : "SET";
  return kept && `${method} /${netFn}/${code}/${kept.toString("hex")}`;
}

/** Shortens a FRU, whose fields hold 63 bytes. */
function shortened(fru: NonNullable<RecordedIpmi["fru"]>) {
  const entries = Object.entries(fru).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text.slice(0, 60)]],
  );
  return Object.fromEntries(entries) as Partial<SimulatedFru>;
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "hex");
}
