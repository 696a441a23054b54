import { BmcError } from "../../../../contract/bmc-error.ts";
import type { SolDriver } from "../../../operations/sol.ts";
import { type CommandChannel, dataOf, exchange } from "../commands/channel.ts";
import { type Command, ipmiCommand, NetFn } from "../commands/command.ts";
import { COMPLETED, completionError } from "../commands/completion-code.ts";

/** Payload type of serial over LAN (IPMI 2.0 table 13-16). */
export const SOL = 0x01;

/** The completion code of Deactivate Payload for an instance that is not active. */
const ALREADY_DEACTIVATED = 0x80;

/** Get Payload Activation Status (section 24.4). */
const GET_SOL_STATUS = ipmiCommand("Get Payload Activation Status", NetFn.app, 0x4a, {
  data: Uint8Array.of(SOL),
});

/** The instances in use, 1 to 16, from the answer. */
export function parseActiveInstances(data: Buffer): number[] {
  if (data.length < 3) {
    throw new BmcError("protocol", "Get Payload Activation Status: the answer is shorter than 3 bytes");
  }
  const active = data.readUInt16LE(1);
  return Array.from({ length: 16 }, (_, bit) => bit + 1).filter((instance) => active & (1 << (instance - 1)));
}

/** Deactivate Payload (section 24.2), for serial over LAN. `instance`: 1 to 16. */
function deactivatePayload(instance: number): Command {
  return ipmiCommand("Deactivate Payload", NetFn.app, 0x49, {
    data: Uint8Array.of(SOL, instance, 0, 0, 0, 0),
    needs: "operator",
    effect: "set",
    refusals: { 129: { class: "unsupported", reason: "serial over LAN is disabled on this BMC" } },
  });
}

/** The first instance, which is the only one on most BMCs. */
export const INSTANCE = 1;

/** Whether serial over LAN is offered. A BMC may have the payload, but not the command that reports its state. */
export async function solOffered(channel: CommandChannel, signal: AbortSignal): Promise<true | undefined> {
  const { completionCode } = await exchange(channel, GET_SOL_STATUS, signal);
  return completionCode === COMPLETED || undefined;
}

/** The active instances; undefined if the BMC cannot say. */
export async function readActiveInstances(
  channel: CommandChannel,
  signal: AbortSignal,
): Promise<readonly number[] | undefined> {
  const { command, completionCode, data, level } = await exchange(channel, GET_SOL_STATUS, signal);
  if (completionCode === COMPLETED) return parseActiveInstances(data);
  const error = completionError(command, completionCode, level);
  if (error.class === "busy") throw error;
  return undefined;
}

/** Deactivates serial over LAN. An instance that is not in use counts as success. */
export async function deactivateSol(
  channel: CommandChannel,
  instance: number,
  signal: AbortSignal,
): Promise<void> {
  const answer = await exchange(channel, deactivatePayload(instance), signal);
  if (answer.completionCode !== ALREADY_DEACTIVATED) dataOf(answer);
}

/** Serial over LAN as a payload of RMCP+ (IPMI 2.0 section 24). */
export const ipmiSol = (channel: CommandChannel): SolDriver => ({
  offered: (signal) => solOffered(channel, signal),
  active: (signal) => readActiveInstances(channel, signal),

  async deactivate(signal, instances) {
    for (const instance of instances ?? (await this.active(signal)) ?? [INSTANCE])
      await deactivateSol(channel, instance, signal);
  },
});
