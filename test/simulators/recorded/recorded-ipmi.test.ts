import { expect, it } from "vitest";
import type { RecordedIpmi, Recording } from "../../../shared/recording/recording.ts";
import { type RunningRecording, startRecording } from "../../../simulators/recorded/start-recording.ts";
import { resultOf, runAction } from "../../actions/action-run.ts";

const MAC = "02:00:00:00:00:0c";
const STATIC = { mode: "static", address: "192.0.2.7", prefix: 24 } as const;

const RESET = { command: "Cold Reset", netFn: 6, code: 2, data: "" };
const GONE = "cannot reach 192.0.2.7 port 623 (UDP): connection refused, no IPMI service answers there";
const RETURNED = { command: "Open Session", code: 0x10, atMs: 2_000, ms: 1, completionCode: 0 };

function start(recording: Partial<Recording>) {
  return startRecording({ resources: {}, ipmi: {}, ...recording }, { tls: "http" });
}

const envOf = ({ username, password, ipmi }: RunningRecording) => ({
  ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: username, BMC_PASSWORD: password },
  ...{ BMC_PROVIDERS: "ipmi", IPMI_PORT: String(ipmi?.port), IPMI_PRIVILEGE: "administrator" },
});

it.each([
  [
    "does not come back",
    "20s",
    [],
    { ok: false, class: "timeout", message: /did not answer within .*connection refused/ },
  ],
  ["comes back", "2m", [RETURNED], { ok: true, message: /answers again after/ }],
])(
  "a BMC that ends when it is reset, and %s, does so in a replay",
  async (_, limit, later, { message, ...ended }) => {
    await using running = await start({ commands: [{ ...RESET, atMs: 0, ms: 5, error: GONE }, ...later] });

    const result = resultOf(
      await runAction("bmc-reset", { env: { ...envOf(running), ANSWER_TIMEOUT: limit } }),
    );

    expect(result).toMatchObject({ ...ended, message: expect.stringMatching(message) });
    expect(running.ipmi?.log.filter((name) => name === "Cold Reset")).toHaveLength(1);
  },
);

it.each<[string, NonNullable<RecordedIpmi["network"]>, object]>([
  ["no address", { mac: MAC, vlan: 0 }, { mac: MAC, vlan: "off" }],
  ["neither MAC address nor VLANs", STATIC, STATIC],
  ["no mask", { mode: "dhcp", address: "192.0.2.7" }, { mode: "dhcp", address: "192.0.2.7" }],
  ["an address from elsewhere", { ...STATIC, mode: "other" }, { ...STATIC, mode: "other" }],
])("a BMC whose LAN has %s shows it so in a replay", async (_, network, shown) => {
  await using running = await start({ ipmi: { network } });

  const { data } = resultOf(await runAction("get-bmc-network", { env: envOf(running) }));

  expect(data).toEqual({ interfaces: [{ id: "1", ...shown }] });
});
