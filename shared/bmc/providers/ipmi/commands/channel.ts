import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { SpanAttributes } from "../../../../tracing/tracer.ts";
import { concernsOnePart } from "../../../operations/unread.ts";
import type { Command, Privilege } from "./command.ts";
import {
  COMPLETED,
  completionError,
  NOT_IN_PRESENT_STATE,
  PASSING,
  RefusedCommand,
  UNSPECIFIED,
} from "./completion-code.ts";

export interface Answer {
  readonly command: Command;
  readonly completionCode: number;
  readonly data: Buffer;
  /** The privilege level of the session; absent if the answer came without a session. */
  readonly level?: Privilege;
}

/** The completion code in the specification's notation, for a span. */
export function codeOf({ completionCode }: Answer): SpanAttributes {
  const code = `0x${completionCode.toString(16).padStart(2, "0")}`;
  return {
    "pbnj.ipmi.completion_code": code,
    "error.type": completionCode === COMPLETED ? undefined : code,
  };
}

/** A channel for commands to one BMC: a session of this project, or a program. */
export interface CommandChannel {
  /**
   * Returns the answers in the order of the commands, whatever their completion codes. The commands must not depend on each
   * other's order: they may be sent together, and a BMC may handle packets concurrently.
   */
  run(commands: readonly Command[], signal: AbortSignal): Promise<readonly Answer[]>;
}

/** Wraps a channel to call back for every command that the BMC accepted and that changes something. */
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

/** Pauses before a read that was temporarily refused is sent again. */
const PAUSES_MS = [250, 500, 1_000, 2_000, 2_000] as const;

/**
 * Wraps a channel to repeat, for some seconds, commands that the BMC refuses temporarily. Each command gets these pauses
 * once per channel, so that a BMC that always refuses costs no more.
 */
export function askingAgain(channel: CommandChannel, clock: Clock): CommandChannel {
  const pauses = new Map<string, number>();
  const pauseAfter = (answers: readonly Answer[]): number | undefined => {
    const names = answers.filter(isForTheMoment).map(({ command }) => command.name);
    const used = names.map((name) => pauses.get(name) ?? 0);
    for (const [index, name] of names.entries()) pauses.set(name, (used[index] ?? 0) + 1);
    return used.length === 0 ? undefined : PAUSES_MS[Math.min(...used)];
  };
  return {
    async run(commands, signal) {
      let answers = await channel.run(commands, signal);
      for (;;) {
        const pauseMs = pauseAfter(answers);
        if (pauseMs === undefined) return answers;
        await clock.sleep(pauseMs, signal);
        const again = answers.filter(isForTheMoment).map(({ command }) => command);
        const next = [...(await channel.run(again, signal))];
        answers = answers.map((answer) => (isForTheMoment(answer) ? (next.shift() ?? answer) : answer));
      }
    },
  };
}

function isForTheMoment({ command: { effect, secret, ofPart }, completionCode: code }: Answer): boolean {
  return effect === "read" && !secret && isPassing(code) && !(ofPart && code === UNSPECIFIED);
}

function isPassing(code: number): boolean {
  return PASSING.has(code) || code === NOT_IN_PRESENT_STATE;
}

/** The BMC answers other commands, but not this one. */
export class UnansweredCommand extends BmcError {
  constructor(name: string, cause: unknown) {
    super("bmc", `${name}: no answer, although the BMC answers other commands`, { cause });
  }
}

/** The maximum number of unanswered commands in one reading; each of them takes seconds. */
const MOST_UNANSWERED = 2;

/** Distinguishes the refusal of one part, such as a record, from an error that ends a whole reading. */
export class PartRefusals {
  #unanswered = 0;

  /** Returns `thrown` as the error of one part that the others do not need. Throws every other error. */
  of(thrown: unknown): BmcError {
    if (thrown instanceof RefusedCommand) return thrown;
    if (thrown instanceof UnansweredCommand) this.#unanswered += 1;
    if (this.#unanswered > MOST_UNANSWERED) throw thrown;
    return concernsOnePart(thrown);
  }
}

/** The data of an answer. Throws an error for a completion code other than success. */
export function dataOf(answer: Answer): Buffer {
  if (answer.completionCode === COMPLETED) return answer.data;
  throw completionError(answer.command, answer.completionCode, answer.level);
}

/** Sends one command. Resolves to its answer, whatever the completion code. */
export async function exchange(
  channel: CommandChannel,
  command: Command,
  signal: AbortSignal,
): Promise<Answer> {
  const [answer] = await channel.run([command], signal);
  if (!answer) throw new BmcError("internal", `${command.name}: the channel kept no answer`);
  return answer;
}

/** Sends one command. Resolves to the data of its answer; rejects for a completion code other than success. */
export async function request(
  channel: CommandChannel,
  command: Command,
  signal: AbortSignal,
): Promise<Buffer> {
  return dataOf(await exchange(channel, command, signal));
}

/** Sends a command that reads. Resolves to undefined if the BMC does not know it. */
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
