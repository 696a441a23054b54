import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { PowerLimitDriver } from "../../../operations/powerlimit.ts";
import { type CommandChannel, dataOf, exchange, request } from "../commands/channel.ts";
import { type Command, ipmiCommand, NetFn, type Refusal } from "../commands/command.ts";
import { COMPLETED } from "../commands/completion-code.ts";

/** The group extension of DCMI 1.5, which defines power limits. Its number is the first byte of requests and answers. */
const DCMI = 0xdc;

/** DCMI 1.5 section 6.6.1; 6.6.2 to 6.6.4 are the others. */
const GET_POWER_READING = dcmi("Get Power Reading", 0x02, [1, 0, 0]);
const GET_POWER_LIMIT = dcmi("Get Power Limit", 0x03, [0, 0]);

/** The completion code of Get Power Limit if none is active. Its data is valid. */
const NO_LIMIT = 0x80;
const OUT_OF_RANGE: Refusal = { class: "unsupported", reason: "the power limit is out of the BMC's range" };

interface StoredLimit {
  readonly isActive: boolean;
  readonly watts: number;
  /** The reaction to an exceeded limit, its delay, and the averaging period. They are kept. */
  readonly exceptionAction: number;
  readonly correctionMs: number;
  readonly samplingSeconds: number;
}

/** The values for BMCs that have never had a limit. */
const DEFAULTS = { exceptionAction: 0, correctionMs: 1_000, samplingSeconds: 1 } as const;

function dcmi(name: string, command: number, data: readonly number[], rest: Partial<Command> = {}): Command {
  return ipmiCommand(name, NetFn.group, command, { data: Uint8Array.of(DCMI, ...data), ...rest });
}

function setPowerLimit(watts: number, { exceptionAction, correctionMs, samplingSeconds }: StoredLimit) {
  const data = Buffer.alloc(14);
  data[0] = 0;
  data.writeUInt8(exceptionAction, 3);
  data.writeUInt16LE(watts, 4);
  data.writeUInt32LE(correctionMs, 6);
  data.writeUInt16LE(samplingSeconds, 12);
  return dcmi(`Set Power Limit: ${watts} W`, 0x04, [...data], {
    needs: "operator",
    effect: "set",
    refusals: { 132: OUT_OF_RANGE },
  });
}

function activatePowerLimit(isActive: boolean): Command {
  const name = `${isActive ? "Activate" : "Deactivate"} Power Limit`;
  return dcmi(name, 0x05, [isActive ? 1 : 0, 0, 0], { needs: "operator", effect: "set" });
}

async function readLimit(channel: CommandChannel, signal: AbortSignal): Promise<StoredLimit> {
  const answer = await exchange(channel, GET_POWER_LIMIT, signal);
  const isActive = answer.completionCode === COMPLETED;
  const data = answer.completionCode === NO_LIMIT ? answer.data : dataOf(answer);
  if (data.length < 14) {
    if (!isActive) return { isActive, watts: 0, ...DEFAULTS };
    throw new BmcError("protocol", "Get Power Limit: the answer is shorter than 14 bytes");
  }
  return {
    isActive,
    exceptionAction: data.readUInt8(3),
    watts: data.readUInt16LE(4),
    correctionMs: data.readUInt32LE(6) || DEFAULTS.correctionMs,
    samplingSeconds: data.readUInt16LE(12) || DEFAULTS.samplingSeconds,
  };
}

/** The maximum value of the command's two bytes. */
const MOST_WATTS = 65_535;

/** The power limit through the commands of DCMI. */
export const ipmiPowerLimit = (channel: CommandChannel): PowerLimitDriver => ({
  async read(signal) {
    const { isActive, watts } = await readLimit(channel, signal);
    const reading = await exchange(channel, GET_POWER_READING, signal);
    const isReading = reading.completionCode === COMPLETED && reading.data.length >= 3;
    return defined({
      watts: isActive ? watts : undefined,
      consumedWatts: isReading ? reading.data.readUInt16LE(1) : undefined,
      maxWatts: MOST_WATTS,
    });
  },
  async plan(watts, signal) {
    if (watts === undefined) return activatePowerLimit(false).name;
    const set = setPowerLimit(watts, await readLimit(channel, signal));
    return `${set.name}, ${activatePowerLimit(true).name}`;
  },
  async write(watts, signal) {
    if (watts !== undefined) {
      await request(channel, setPowerLimit(watts, await readLimit(channel, signal)), signal);
    }
    await request(channel, activatePowerLimit(watts !== undefined), signal);
  },
});
