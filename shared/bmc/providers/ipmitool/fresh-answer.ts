import type { Clock } from "../../../clock.ts";
import type { Answer, CommandChannel } from "../ipmi/channel.ts";
import type { Command } from "../ipmi/command.ts";

/** How long an answer may stand for the next one, which takes a run of the program to get. */
const FRESH_MS = 1_000;

/**
 * A channel that has an answer already, of the run that proved the credentials: it serves the first commands
 * asked for when they are the very same one and hardly any time has passed. After that every command is run.
 */
export class ChannelWithFreshAnswer implements CommandChannel {
  readonly #channel: CommandChannel;
  readonly #clock: Clock;
  readonly #sinceMs: number;
  #answer: Answer | undefined;

  constructor(channel: CommandChannel, answer: Answer, clock: Clock) {
    this.#channel = channel;
    this.#clock = clock;
    this.#answer = answer;
    this.#sinceMs = clock.monotonicMs();
  }

  async run(commands: readonly Command[], signal: AbortSignal): Promise<readonly Answer[]> {
    const answer = this.#answer;
    this.#answer = undefined;
    const isFresh = this.#clock.monotonicMs() - this.#sinceMs < FRESH_MS;
    const [command] = commands;
    if (answer && isFresh && commands.length === 1 && command === answer.command) return [answer];
    return this.#channel.run(commands, signal);
  }
}
