import { BmcError } from "../../../contract/bmc-error.ts";
import type { SpanAttributes } from "../../../tracing/tracer.ts";
import type { Command } from "./command.ts";
import { COMPLETED, completionError } from "./completion-code.ts";

export interface Answer {
  readonly command: Command;
  readonly completionCode: number;
  readonly data: Buffer;
}

/** For a span: the completion code as the specification writes it. */
export function codeOf({ completionCode }: Answer): SpanAttributes {
  const code = `0x${completionCode.toString(16).padStart(2, "0")}`;
  return {
    "pbnj.ipmi.completion_code": code,
    "error.type": completionCode === COMPLETED ? undefined : code,
  };
}

/** What carries commands to one BMC: a session of this project's own, or a program. */
export interface CommandChannel {
  /**
   * The answers in the order of the commands, whatever their completion codes. The commands must not depend on
   * each other's order: they may travel together, and a BMC may handle packets concurrently.
   */
  run(commands: readonly Command[], signal: AbortSignal): Promise<readonly Answer[]>;
}

/** The channel, which calls back with every command that the BMC accepted and that changes something. */
export function notingChanges(channel: CommandChannel, onAccepted: (() => void) | undefined): CommandChannel {
  return {
    async run(commands, signal) {
      const answers = await channel.run(commands, signal);
      const changes = ({ command: { effect, prepares }, completionCode }: Answer) =>
        completionCode === COMPLETED && effect !== "read" && !prepares;
      if (answers.some(changes)) onAccepted?.();
      return answers;
    },
  };
}

/** The data of an answer. Throws what its completion code means. */
export function dataOf(answer: Answer): Buffer {
  if (answer.completionCode === COMPLETED) return answer.data;
  throw completionError(answer.command, answer.completionCode);
}

/** One command and its answer, whatever its completion code. */
export async function exchange(
  channel: CommandChannel,
  command: Command,
  signal: AbortSignal,
): Promise<Answer> {
  const [answer] = await channel.run([command], signal);
  if (!answer) throw new BmcError("internal", `${command.name}: the channel kept no answer`);
  return answer;
}

/** One command and the data of its answer. Rejects with what a completion code other than success means. */
export async function request(
  channel: CommandChannel,
  command: Command,
  signal: AbortSignal,
): Promise<Buffer> {
  return dataOf(await exchange(channel, command, signal));
}

/** Sends a command that reads; undefined where the BMC does not know it. */
export async function requestIfKnown(
  channel: CommandChannel,
  command: Command,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  try {
    return await request(channel, command, signal);
  } catch (thrown) {
    if (BmcError.from(thrown).class !== "unsupported") throw thrown;
    return undefined;
  }
}
