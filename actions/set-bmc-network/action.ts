import type { NetworkReport, NetworkStage } from "../../shared/bmc/operations/network-change.ts";
import {
  describeNetwork,
  HOST_NAME,
  type NetworkRequest,
  type NetworkSettings,
  requestProblems,
} from "../../shared/bmc/operations/network-settings.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { defined } from "../../shared/defined.ts";
import { ActionFailure, type ActionReport, defineAction } from "../harness/action.ts";
import { choice, duration, type InputOf, text } from "../harness/input/input.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";
import { addressField, goBackInput } from "./network-input.ts";

interface NetworkData {
  readonly host?: string;
  readonly goBack?: string;
}

const input = {
  interface: text({
    env: "INTERFACE",
    description: "ID of the interface; by default the one that the connection uses, or the only one",
    pattern: /^[\w.:-]{1,100}$/,
    expected: "is not the ID of an interface",
  }),
  mode: choice(["static", "dhcp"], {
    env: "MODE",
    description: "Where the address comes from; by default static if ADDRESS is set",
  }),
  address: addressField,
  gateway: text({
    env: "GATEWAY",
    description: "IPv4 address in the subnet, or none",
    pattern: /^(none|\d{1,3}(\.\d{1,3}){3})$/,
    expected: "is not an IPv4 address or none",
  }),
  vlan: text({
    env: "VLAN",
    description: "VLAN ID, 1 to 4094, or off",
    pattern: /^(off|[1-9]\d{0,3})$/,
    expected: "is not a VLAN ID or off",
  }),
  hostName: text({
    env: "HOST_NAME",
    description: "Host name without domain; Redfish only",
    pattern: HOST_NAME,
    expected: "is not a host name without domain",
  }),
  verifyTimeout: duration({
    env: "VERIFY_TIMEOUT",
    description: "Time limit for the BMC to answer with the new settings",
    default: "2m",
    minMs: 1_000,
  }),
} as const;

/** The classes of failures after which the BMC may be hard to reach. */
const LOST = ["auth", "timeout", "tls", "unreachable", "verify"];

export default defineAction<typeof input, DryRunData | NetworkData>({
  name: "set-bmc-network",
  summary: "Set the address, gateway, VLAN or host name of a BMC, and verify them at its new address",
  idempotent: true,
  input,
  check: (given, nameInput) => {
    const { mode, address, gateway, vlan, hostName } = given;
    const isEmpty = [mode, address, gateway, vlan, hostName].every((value) => value === undefined);
    const names = ["MODE", "ADDRESS", "GATEWAY", "VLAN", "HOST_NAME"].map((name) => nameInput(name));
    return [
      ...(isEmpty ? [`set at least one of ${names.join(", ")}`] : []),
      ...requestProblems(requestOf(given)),
    ];
  },
  run: async ({ bmc, input: given, dryRun, signal, progress, nameInput }) => {
    const request = requestOf(given);
    if (dryRun) {
      const plan = await bmc.planNetwork(request, signal);
      return reportPlan(plan, describeNetwork(plan.before));
    }
    let sent: NetworkSettings | undefined;
    const goBack = (before: NetworkSettings, moved?: string) =>
      goBackInput(before, nameInput, { moved, keeps: request });
    const onStage = (stage: NetworkStage, before: NetworkSettings) => {
      const data: NetworkData = defined({ goBack: goBack(before) });
      progress({ summary: `${stage} the change`, before, changed: stage === "sent", data });
      if (stage === "sent") sent = before;
    };
    try {
      const report = await bmc.setNetwork(request, given.verifyTimeout, signal, onStage);
      return reportOf(report, goBack);
    } catch (thrown) {
      const error = BmcError.from(thrown);
      if (!sent || !LOST.includes(error.class)) throw error;
      // It is unknown where the BMC can be reached now.
      const back = goBack(sent);
      const way = back === undefined ? "" : `; settings before: ${back}`;
      const { uncertain } = error;
      const failure = new BmcError(error.class, `${error.message}${way}`, { cause: error, uncertain });
      throw new ActionFailure(failure, { before: sent, changed: true, data: defined({ goBack: back }) });
    }
  },
});

function requestOf(given: InputOf<typeof input>): NetworkRequest {
  const { interface: id, mode, address, gateway, vlan, hostName } = given;
  return defined({
    interface: id,
    mode,
    address: address?.address,
    prefix: address?.prefix,
    gateway,
    vlan: vlan === undefined ? undefined : vlan === "off" ? ("off" as const) : Number(vlan),
    hostName,
  });
}

function reportOf(
  { before, after, host, changed, summary }: NetworkReport,
  goBack: (before: NetworkSettings, moved?: string) => string | undefined,
): ActionReport<NetworkData> {
  const moved = host !== undefined && host === after?.address ? host : undefined;
  const back = changed ? goBack(before, moved === before.address ? undefined : moved) : undefined;
  const way = back === undefined ? "" : `; to go back: ${back}`;
  return {
    ...defined({ before, after }),
    changed,
    data: defined({ host, goBack: back }),
    summary: `${summary}${way}`,
  };
}
