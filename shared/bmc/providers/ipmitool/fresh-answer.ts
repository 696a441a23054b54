import type { Clock } from "../../../clock.ts";
import { FirstReading } from "../../http/first-reading.ts";
import type { Answer, CommandChannel } from "../ipmi/commands/channel.ts";

/** How long an answer serves the next command, which takes a run of the program. */
const FRESH_MS = 1_000;

/**
 * A channel that has an answer already, of the run that proved the credentials: it serves the first commands
 * asked for when they are the very same one and hardly any time has passed. After that every command is run.
 */
export function withFreshAnswer(channel: CommandChannel, answer: Answer, clock: Clock): CommandChannel {
  const first = new FirstReading(answer, clock, FRESH_MS);
  return {
    async run(commands, signal) {
      const fresh = first.take();
      const isSame = commands.length === 1 && commands[0] === answer.command;
      return fresh && isSame ? [fresh] : channel.run(commands, signal);
    },
  };
}
