import { expect } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../shared/clock.ts";
import type { Recording } from "../../../shared/recording/recording.ts";
import { startRecording } from "../../../simulators/recorded/start-recording.ts";
import { resultOf, runAction } from "../../actions/action-run.ts";

const Checks = z.object({
  checks: z.array(z.object({ provider: z.string(), check: z.string(), state: z.string() })),
});

/** The machine of a report answers as it did: a check has the same result. Another action may have had input that no report holds. */
export async function expectReport(recording: Recording): Promise<void> {
  await using running = await startRecording(recording, { speed: 10, tls: "http" });
  const { checks = [] } = recording.action ?? {};
  // The recorded certificate, clock and time are the real machine's own.
  const states = (all: readonly (typeof checks)[number][]) =>
    all.filter(({ check }) => !/^(certificate|clock|https)$/.test(check));
  if (checks.length === 0) return;
  const { username, password, redfish, ipmi } = running;
  const env = {
    ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: username, BMC_PASSWORD: password },
    BMC_PROVIDERS: [...new Set(checks.map(({ provider }) => provider))].join(","),
    ...{ REDFISH_SCHEME: "http", REDFISH_PORT: String(redfish.port) },
    ...(ipmi && { IPMI_PORT: String(ipmi.port) }),
  };

  const { data } = resultOf(await runAction("check", { env, clock: systemClock }));

  expect(states(Checks.parse(data).checks)).toEqual(states(checks));
}
