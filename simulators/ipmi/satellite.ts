import type { SimulatedMachine } from "../machine.ts";
import type { Reply } from "./reply.ts";
import type { Request } from "./wire.ts";
import { readRequest, writeResponse } from "./wire.ts";

/** A controller behind the BMC, on one of its buses, with a machine of its own. */
export interface SimulatedSatellite {
  readonly channel: number;
  /** Its slave address, such as 0x72. */
  readonly address: number;
  readonly machine: SimulatedMachine;
  /** Whether its answer follows the BMC's own, or comes inside it. */
  readonly answer: "after" | "within";
}

/** The result of Send Message. */
export interface Forwarded {
  readonly reply: Reply;
  /** The satellite's own message to the console, to be sent after the reply. */
  readonly message?: Buffer;
}

const SEND_MESSAGE = 0x34;
const APP = 0x06;

export function isSendMessage({ netFn, command }: Request): boolean {
  return netFn === APP && command === SEND_MESSAGE;
}

/** Send Message (IPMI 2.0 section 22.7). `execute` is the satellite's own way with a request. */
export function forward(
  { data, source }: Request,
  satellites: readonly SimulatedSatellite[],
  execute: (request: Request, satellite: SimulatedSatellite) => Reply,
): Forwarded {
  const channel = (data[0] ?? 0) & 0x0f;
  const inner = readRequest(data.subarray(1));
  if (!inner) return { reply: { code: 0xcc } };
  const satellite = satellites.find((one) => one.channel === channel && one.address === inner.target);
  if (!satellite) return { reply: { code: 0x83 } };
  const { code = 0, data: answer = Buffer.alloc(0) } = execute(inner, satellite);
  // The BMC turns the address on its bus into the console's.
  const message = writeResponse({ ...inner, source }, code, code === 0 ? answer : Buffer.alloc(0));
  return satellite.answer === "within" ? { reply: { data: message } } : { reply: {}, message };
}
