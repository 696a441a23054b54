import type { IpmiBridge } from "../../../../contract/connection.ts";
import type { Answer } from "../commands/channel.ts";
import { type Command, NetFn } from "../commands/command.ts";
import { COMPLETED } from "../commands/completion-code.ts";
import {
  BMC_ADDRESS,
  buildIpmbRequest,
  CONSOLE_ADDRESS,
  type LanResponse,
  parseLanResponse,
} from "./message.ts";

/** The controller that commands go to: the BMC itself, or one behind it. */
export interface Route {
  /** The command to send to the BMC. `sequence` is 0 to 63. */
  wrap(command: Command, sequence: number): Command;
  /**
   * What a response means for the command: its answer, `forwarded` if the answer is still to come, or undefined if it
   * belongs to another command.
   */
  answer(response: LanResponse, command: Command, sequence: number): Answer | "forwarded" | undefined;
}

export const DIRECT: Route = {
  wrap: (command) => command,
  answer: (response, command, sequence) =>
    answers(response, command, sequence) ? answerOf(response, command) : undefined,
};

/** Tracks the request, so that the BMC forwards the target's answer to us (IPMI 2.0 table 22-9). */
const TRACK_REQUEST = 0x40;

/**
 * Routes to a controller behind the BMC, with each command inside Send Message (IPMI 2.0 sections 6.13 and 22.7). The BMC
 * answers that first. The target's answer follows as a separate response or, with some BMCs, is included.
 */
export function bridged(bridge: IpmiBridge): Route {
  const wrap = (command: Command, sequence: number) => sendMessage(bridge, command, sequence);
  // BMCs put their own address into the target's answer, or forward it without exchanging the addresses.
  const responders = [bridge.address, BMC_ADDRESS, CONSOLE_ADDRESS];
  return {
    wrap,
    answer: (response, command, sequence) => {
      if (responders.includes(response.responder) && answers(response, command, sequence)) {
        return answerOf(response, command);
      }
      const carrier = wrap(command, sequence);
      if (response.responder !== BMC_ADDRESS || !answers(response, carrier, sequence)) return undefined;
      if (response.completionCode !== COMPLETED) return answerOf(response, carrier);
      const within = parseLanResponse(response.data);
      return within && answers(within, command, sequence) ? answerOf(within, command) : "forwarded";
    },
  };
}

export function routeTo(bridge: IpmiBridge | undefined): Route {
  return bridge === undefined || bridge.address === BMC_ADDRESS ? DIRECT : bridged(bridge);
}

function sendMessage({ channel, address }: IpmiBridge, command: Command, sequence: number): Command {
  const target = `address 0x${address.toString(16).padStart(2, "0")} on channel ${channel}`;
  return {
    ...command,
    name: `${command.name} to ${target}`,
    netFn: NetFn.app,
    command: 0x34,
    data: Buffer.concat([
      Buffer.of(TRACK_REQUEST | channel),
      buildIpmbRequest({ ...command, sequence }, address),
    ]),
    refusals: {
      128: { class: "bmc", reason: "the BMC's session handle is invalid" },
      129: { class: "busy", reason: "the BMC lost the arbitration of the bus" },
      130: { class: "busy", reason: "the bus has an error" },
      131: { class: "unreachable", reason: "no controller answers there" },
    },
  };
}

function answers(
  response: LanResponse,
  { netFn, command }: Pick<Command, "netFn" | "command">,
  sequence: number,
): boolean {
  return response.netFn === netFn && response.command === command && response.sequence === sequence;
}

function answerOf({ completionCode, data }: LanResponse, command: Command): Answer {
  return { command, completionCode, data };
}
