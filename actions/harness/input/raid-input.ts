import type { RaidLimits } from "../../../shared/bmc/operations/raid.ts";
import { choice, duration, text } from "./input.ts";

/** The inputs that set-raid and clear-raid share. */
export const raidInput = {
  controller: text({
    env: "RAID_CONTROLLER",
    description: "ID of the RAID controller; needed if the volumes could be on several",
    pattern: /^[^\p{Cc}\p{Cf}]{1,200}$/u,
    expected: "is not the ID of a controller",
  }),
  applyTime: choice(["on-reset", "immediate"], {
    env: "APPLY_TIME",
    description: "When the change takes effect; without it, the BMC decides",
  }),
  raidTimeout: duration({
    env: "RAID_TIMEOUT",
    description: "Time limit for all requests and their tasks",
    default: "30m",
    minMs: 1_000,
  }),
  verifyTimeout: duration({
    env: "VERIFY_TIMEOUT",
    description: "Time limit for the volumes to show each change after that, a restart of the BMC included",
    default: "10m",
    minMs: 1_000,
  }),
};

export function limitsOf(input: {
  readonly raidTimeout: number;
  readonly verifyTimeout: number;
}): RaidLimits {
  return { changeMs: input.raidTimeout, verifyMs: input.verifyTimeout };
}
