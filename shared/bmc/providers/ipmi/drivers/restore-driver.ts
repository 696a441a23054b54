import type { RestoreDriver, RestorePolicy } from "../../../operations/restore.ts";
import { type CommandChannel, request, requestIfKnown } from "../commands/channel.ts";
import { GET_CHASSIS_STATUS } from "../commands/chassis.ts";
import { type Command, ipmiCommand, NetFn } from "../commands/command.ts";

/** Policies by code, in Get Chassis Status and Set Power Restore Policy (IPMI 2.0 sections 28.2 and 28.8). */
const POLICIES: readonly RestorePolicy[] = ["always-off", "last-state", "always-on"];

function setRestorePolicy(policy: RestorePolicy): Command {
  return ipmiCommand(describeSet(policy), NetFn.chassis, 0x06, {
    data: Uint8Array.of(POLICIES.indexOf(policy)),
    needs: "operator",
    effect: "set",
  });
}

const describeSet = (policy: RestorePolicy) => `Set Power Restore Policy: ${policy}`;

/** What the machine does when its power supply returns. */
export const ipmiRestore = (channel: CommandChannel): RestoreDriver => ({
  async read(signal) {
    const [status] = (await requestIfKnown(channel, GET_CHASSIS_STATUS, signal)) ?? [];
    return status === undefined ? undefined : POLICIES[(status >> 5) & 0x03];
  },
  plan: async (policy) => describeSet(policy),
  async write(policy, signal) {
    await request(channel, setRestorePolicy(policy), signal);
  },
});
