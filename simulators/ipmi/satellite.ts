import type { SimulatedMachine } from "../machine.ts";
import type { Reply } from "./reply.ts";
import type { Request } from "./wire.ts";
import { readRequest, writeResponse } from "./wire.ts";

/** A controller on one of the BMC's buses, with its own machine. */
export interface SimulatedSatellite {
  readonly channel: number;
  /** The slave address, such as 0x72. */
  readonly address: number;
  readonly machine: SimulatedMachine;
  /** Whether the satellite's answer follows the BMC's own answer or is inside it. */
  readonly answer: "after" | "within";
}

/** The result of Send Message. */
export interface Forwarded {
  readonly reply: Reply;
  /** The satellite's message to the console, which is sent after the reply. */
  readonly message?: Buffer;
}

const SEND_MESSAGE = 0x34;
const APP = 0x06;

export function isSendMessage({ netFn, command }: Request): boolean {
  return netFn === APP && command === SEND_MESSAGE;
}

/** Handles Send Message (IPMI 2.0 section 22.7). `execute` is how the satellite handles a request. */
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
  // The BMC replaces the address on its bus with the console's.
  const message = writeResponse({ ...inner, source }, code, code === 0 ? answer : Buffer.alloc(0));
  return satellite.answer === "within" ? { reply: { data: message } } : { reply: {}, message };
}
