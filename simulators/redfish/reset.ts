import { z } from "zod";
import type { PowerAction, SimulatedMachine } from "../machine.ts";
import { type Answer, noContent, refusal } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";

export const RESET_ACTIONS: Readonly<Record<string, PowerAction>> = {
  On: "on",
  ForceOn: "on",
  ForceOff: "off",
  GracefulShutdown: "soft-off",
  PushPowerButton: "soft-off",
  ForceRestart: "reset",
  GracefulRestart: "reset",
  PowerCycle: "cycle",
  Nmi: "nmi",
};

const ResetRequest = z.strictObject({ ResetType: z.string() });

/** Performs a ComputerSystem.Reset. */
export function reset(body: unknown, machine: SimulatedMachine, profile: RedfishProfile): Answer {
  const parsed = ResetRequest.safeParse(body);
  if (!parsed.success) {
    return refusal(400, "Base.1.8.ActionParameterMissing", "The action requires the parameter ResetType.");
  }
  const type = parsed.data.ResetType;
  const action = RESET_ACTIONS[type];
  if (action === undefined || !profile.resetTypes.includes(type)) {
    const message = `The value ${type} for the parameter ResetType is not in the list of acceptable values.`;
    return refusal(400, "Base.1.8.ActionParameterValueNotInList", message);
  }
  if (!machine.do(action)) {
    const message = `The system is ${machine.power}, which does not allow ${type}.`;
    return refusal(409, "Base.1.8.InvalidOperationForSystemState", message);
  }
  return noContent;
}
