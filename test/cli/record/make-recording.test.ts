import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../shared/clock.ts";
import { startRecording } from "../../../simulators/recorded/start-recording.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { resultOf, runAction } from "../../actions/action-run.ts";
import { recordAction } from "../../support/recorded-action.ts";

it("of a BMC that answers and cannot be read has the exchange of the action, which its replay gives again", async () => {
  const bmc = await startRedfishBmc({ tls: "http" });
  onTestFinished(() => bmc.close());
  bmc.fail({ kind: "redirect", path: /./, times: 100, status: 301, location: "https://192.0.2.20:8080/" });
  const to = (port: number, username: string, password: string) => ({
    ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: username, BMC_PASSWORD: password, BMC_PROVIDERS: "redfish" },
    ...{ REDFISH_SCHEME: "http", REDFISH_PORT: String(port) },
  });

  const { recording } = await recordAction("power-status", to(bmc.port, bmc.username, bmc.password));
  await using replayed = await startRecording(recording, { tls: "http" });
  const env = to(replayed.redfish.port, replayed.username, replayed.password);
  const again = resultOf(await runAction("power-status", { env, clock: systemClock }));

  const { location = "" } = recording.exchanges?.[0]?.headers ?? {};
  expect(location).toMatch(/^https:\/\/(?!192\.0\.2\.20)[\d.]+:8080\/$/);
  expect(again).toMatchObject({ class: "protocol", message: expect.stringContaining(location) });
});
