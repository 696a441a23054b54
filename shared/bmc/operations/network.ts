import { neverAborted } from "../../never-aborted.ts";
import { defineOperations, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { type NetworkReport, type NetworkStage, setNetwork } from "./network-change.ts";
import { type NetworkDrivers, type NetworkPort, networkPort } from "./network-port.ts";
import {
  chooseInterface,
  describeInterfaces,
  isAsTarget,
  type NetworkRequest,
  type NetworkSettings,
  targetOf,
} from "./network-settings.ts";

export const networkOperations = defineOperations({
  title: "BMC network",
  methods: (run: Run<NetworkDrivers>) => ({
    /** Lists the BMC's own network interfaces. */
    listNetwork: (signal: AbortSignal = neverAborted()): Promise<readonly NetworkSettings[]> =>
      run(signal, (access) => networkPort(access, signal).list()),

    /**
     * Changes a network interface of the BMC and reads it back with a new session, at its new address if that has changed, for
     * `timeoutMs` at most. Throws `usage` with all problems before anything is sent. `onStage` is called before and after the
     * change is sent.
     */
    setNetwork: (
      request: NetworkRequest,
      timeoutMs: number,
      signal: AbortSignal = neverAborted(),
      onStage: (stage: NetworkStage, before: NetworkSettings) => void = () => undefined,
    ): Promise<NetworkReport> =>
      run(signal, async (access) => {
        const port = networkPort(access, signal);
        const { isDirect, ...change } = await prepare(port, request);
        return setNetwork(port, { ...change, isDirect, timeoutMs, onStage });
      }),

    /** What `setNetwork` would send. */
    planNetwork: (
      request: NetworkRequest,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<NetworkSettings>> =>
      run(signal, async (access) => {
        const port = networkPort(access, signal);
        const { before, target } = await prepare(port, request);
        return { before, steps: isAsTarget(before, target) ? [] : await port.plan({ before, target }) };
      }),
  }),
  check: async (access, signal) => {
    const interfaces = await networkPort(access, signal).list();
    return ok(describeInterfaces(interfaces) || "no interface");
  },
});

async function prepare(port: NetworkPort, request: NetworkRequest) {
  const interfaces = await port.list();
  const addresses = await port.addresses();
  const before = chooseInterface(interfaces, request.interface, addresses);
  const isDirect = before.address !== undefined && addresses.includes(before.address);
  return { before, target: targetOf(before, request), isDirect };
}
