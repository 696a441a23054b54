import { z } from "zod";

/** What the actions said of one recorded machine. */
export const MachineResult = z.strictObject({
  machine: z.string(),
  /** Firmware version of the BMC; empty if the recording does not say. */
  firmware: z.string(),
  /** Actions that said what the recording holds. */
  right: z.array(z.string()),
  /** Actions for which the recording lacks something, with what they said. */
  lacks: z.record(z.string(), z.string()),
});
export type MachineResult = z.infer<typeof MachineResult>;

/** By name of the recording. */
export const Machines = z.record(z.string(), MachineResult);
export type Machines = z.infer<typeof Machines>;
