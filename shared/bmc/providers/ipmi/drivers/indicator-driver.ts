import type { IndicatorDriver, IndicatorState } from "../../../operations/indicator.ts";
import { type CommandChannel, request, requestIfKnown } from "../commands/channel.ts";
import { GET_CHASSIS_STATUS } from "../commands/chassis.ts";
import { type Command, ipmiCommand, NetFn, type Refusal } from "../commands/command.ts";
import { INVALID_FIELD, REQUEST_TOO_LONG, WRONG_LENGTH } from "../commands/completion-code.ts";

const SECONDS_ONLY: Refusal = {
  class: "unsupported",
  reason: "the BMC lights the LED for some seconds only",
};

/** Chassis Identify (IPMI 2.0 section 28.5): 0 seconds means off; the bit of the second byte means on until switched off. */
function chassisIdentify(lit: boolean): Command {
  return ipmiCommand(describeIdentify(lit), NetFn.chassis, 0x04, {
    data: lit ? Uint8Array.of(0, 1) : Uint8Array.of(0),
    needs: "operator",
    effect: "set",
    // The second byte is optional.
    refusals: lit
      ? { [WRONG_LENGTH]: SECONDS_ONLY, [REQUEST_TOO_LONG]: SECONDS_ONLY, [INVALID_FIELD]: SECONDS_ONLY }
      : {},
  });
}

const describeIdentify = (lit: boolean) => `Chassis Identify: ${lit ? "on until switched off" : "off"}`;

/** Bits of the third byte of Get Chassis Status (section 28.2). */
const IS_REPORTED = 0x40;
const STATES: readonly (IndicatorState | undefined)[] = ["off", "timed", "on", undefined];

function parseIndicator(data: Buffer | undefined): IndicatorState | undefined {
  const state = data?.[2] ?? 0;
  return (state & IS_REPORTED) === 0 ? undefined : STATES[(state >> 4) & 0x03];
}

/** The identify LED through Chassis Identify. */
export const ipmiIndicator = (channel: CommandChannel): IndicatorDriver => ({
  read: async (signal) => parseIndicator(await requestIfKnown(channel, GET_CHASSIS_STATUS, signal)),
  plan: async (lit) => describeIdentify(lit),
  async write(lit, signal) {
    await request(channel, chassisIdentify(lit), signal);
  },
});
