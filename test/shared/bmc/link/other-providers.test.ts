import { expect, it } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { REFUSING_PORT } from "../../../actions/lab.ts";

function clientOf(providers: readonly string[]): BmcClient {
  const at = { host: "127.0.0.1", username: "admin", password: "p", tls: { verify: false } };
  const ports = { redfish: { port: REFUSING_PORT }, ipmi: { port: REFUSING_PORT } };
  return new BmcClient(Connection.parse({ ...at, ...ports, providers }), { retriesSilence: false });
}

it("says which providers cannot do it if the others do not answer", async () => {
  const bmc = clientOf(["redfish", "ipmi"]);
  try {
    const reading = bmc.getMedia(AbortSignal.timeout(20_000));

    await expect(reading).rejects.toMatchObject({
      class: "unreachable",
      message: expect.stringMatching(/^redfish: .*; ipmi has no virtual media$/),
    });
    await expect(bmc.getPower(AbortSignal.timeout(20_000))).rejects.toMatchObject({
      message: expect.not.stringContaining("has no"),
    });
  } finally {
    await bmc.close();
  }
});

it("says so at once if none of them can do it", async () => {
  const bmc = clientOf(["ipmi"]);
  try {
    await expect(bmc.getMedia(AbortSignal.timeout(20_000))).rejects.toMatchObject({
      class: "unsupported",
      message: "ipmi has no virtual media",
    });
  } finally {
    await bmc.close();
  }
});
