import { expect, it } from "vitest";
import type { RecordedIpmi } from "../../../shared/recording/recording.ts";
import { startRecording } from "../../../simulators/recorded/start-recording.ts";
import { resultOf, runAction } from "../../actions/action-run.ts";

const MAC = "02:00:00:00:00:0c";
const STATIC = { mode: "static", address: "192.0.2.7", prefix: 24 } as const;

it.each<[string, NonNullable<RecordedIpmi["network"]>, object]>([
  ["no address", { mac: MAC, vlan: 0 }, { mac: MAC, vlan: "off" }],
  ["neither MAC address nor VLANs", STATIC, STATIC],
  ["no mask", { mode: "dhcp", address: "192.0.2.7" }, { mode: "dhcp", address: "192.0.2.7" }],
  ["an address from elsewhere", { ...STATIC, mode: "other" }, { ...STATIC, mode: "other" }],
])("a BMC whose LAN has %s shows it so in a replay", async (_, network, shown) => {
  await using running = await startRecording({ resources: {}, ipmi: { network } }, { tls: "http" });
  const env = {
    ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: running.username, BMC_PASSWORD: running.password },
    ...{ BMC_PROVIDERS: "ipmi", IPMI_PORT: String(running.ipmi?.port), IPMI_PRIVILEGE: "administrator" },
  };

  const { data } = resultOf(await runAction("get-bmc-network", { env }));

  expect(data).toEqual({ interfaces: [{ id: "1", ...shown }] });
});
