import { expect, it } from "vitest";
import { recordBmc } from "../../shared/bmc/recording/record-bmc.ts";
import { systemClock } from "../../shared/clock.ts";
import { Connection } from "../../shared/contract/connection.ts";
import { silentLogger } from "../../shared/logger.ts";
import { Anonymiser } from "../../shared/recording/anonymise.ts";
import { redactor } from "../../shared/secret-forms.ts";
import { startRecording } from "../../simulators/recorded/start-recording.ts";
import { resultOf, runAction } from "../actions/action-run.ts";
import { startIpmiSim } from "./ipmi-sim.ts";
import { describeWithProgram } from "./programs.ts";

const READINGS = ["power-status", "bmc-info", "list-sel", "read-sensors", "get-boot-device"];

describeWithProgram("ipmi_sim", "a recording of OpenIPMI's ipmi_sim", () => {
  it("gives the results that the original gives", { timeout: 120_000 }, async () => {
    const { port } = await startIpmiSim();
    const connection = Connection.parse({
      ...{ host: "127.0.0.1", username: "admin", password: "password", providers: ["ipmi"] },
      ipmi: { port, allowSuite3: true, privilege: "administrator" },
    });
    const reading = await recordBmc(connection, {
      limits: { requests: 1_000, bytes: 1_000_000, ms: 60_000 },
      log: silentLogger,
      signal: AbortSignal.timeout(60_000),
      progress: () => undefined,
    });
    const recording = reading.anonymous(new Anonymiser(redactor({ connection })), connection);
    await using replayed = await startRecording(recording);

    const run = async (action: string, env: Readonly<Record<string, string>>) => {
      const common = { BMC_HOST: "127.0.0.1", BMC_PROVIDERS: "ipmi", IPMI_PRIVILEGE: "administrator" };
      const ended = await runAction(action, { env: { ...common, ...env }, clock: systemClock });
      const { ok, class: errorClass, message, before, after } = resultOf(ended);
      return { action, ok, errorClass, message, before, after };
    };
    const original = { BMC_USERNAME: "admin", BMC_PASSWORD: "password", IPMI_ALLOW_SUITE_3: "true" };
    const { username, password, ipmi } = replayed;
    for (const action of READINGS) {
      const expected = await run(action, { ...original, IPMI_PORT: String(port) });
      const login = { BMC_USERNAME: username, BMC_PASSWORD: password };
      expect(await run(action, { ...login, IPMI_PORT: String(ipmi?.port) })).toEqual(expected);
    }
  });
});
