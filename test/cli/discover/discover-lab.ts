import type { ScanOptions } from "../../../cli/discover/scan.ts";
import { scan } from "../../../cli/discover/scan.ts";
import { systemClock } from "../../../shared/clock.ts";
import { AmtDevice, type AmtDeviceOptions } from "../../../simulators/amt/device.ts";
import { type IpmiBmcOptions, startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";

/** Addresses of this process alone. */
const NETWORK = `127.${80 + (process.pid % 100)}.${(process.pid >> 8) & 255}`;

/** A rack: BMCs at addresses of `NETWORK` that share their ports, as real ones do. */
export async function startRack() {
  const rack = new AsyncDisposableStack();
  const ports = { redfish: 0, ipmi: 0, amt: 0, amtTls: 0 };
  const at = (number: number) => `${NETWORK}.${number}`;
  return {
    ports,
    at,
    async redfish(number: number, options: RedfishBmcOptions = {}) {
      const bmc = rack.use(await startRedfishBmc({ host: at(number), port: ports.redfish, ...options }));
      ports.redfish = bmc.port;
      return bmc;
    },
    async ipmi(number: number, options: Partial<IpmiBmcOptions> = {}) {
      const machine = new SimulatedMachine();
      const bmc = rack.use(await startIpmiBmc({ machine, host: at(number), port: ports.ipmi, ...options }));
      ports.ipmi = bmc.port;
      return bmc;
    },
    async amt(number: number, options: AmtDeviceOptions = {}) {
      const device = new AmtDevice({ host: at(number), tls: "http", ...options });
      const kind = options.tls === undefined ? "amt" : "amtTls";
      await device.http.listen(ports[kind]);
      rack.defer(() => device.close());
      ports[kind] = device.http.port;
      return device;
    },
    /** Looks at these numbers and addresses. Ports that no BMC of the rack has are closed ones. */
    scan(
      numbers: readonly (number | string)[],
      more: Partial<ScanOptions> = {},
      signal = AbortSignal.timeout(120_000),
    ) {
      const used = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, port || 1]));
      const options: ScanOptions = {
        ports: used as typeof ports,
        rate: 10_000,
        concurrency: 10,
        timeoutMs: 20_000,
        clock: systemClock,
        ...more,
      };
      return scan(
        numbers.map((number) => ({ host: typeof number === "string" ? number : at(number) })),
        options,
        signal,
      );
    },
    [Symbol.asyncDispose]: () => rack.disposeAsync(),
  };
}
