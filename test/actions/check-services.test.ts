import { expect, it } from "vitest";
import { startHomeAssistant } from "../../simulators/homeassistant/server.ts";
import { startRpcConsumer } from "../../simulators/rpc/consumer.ts";
import { resultOf, runAction } from "./action-run.ts";
import { rowOf, statesOf } from "./check-lab.ts";

it.concurrent("a webhook takes boot overrides and media that it cannot read back, which is ok", async () => {
  const consumer = await startRpcConsumer();

  const ended = await runAction("check", {
    env: {
      BMC_HOST: "node-7",
      RPC_URL: consumer.http.url,
      BMC_TLS_VERIFY: "false",
      REQUIRE: "power,boot,media",
    },
  });
  await consumer.close();

  expect(resultOf(ended)).toMatchObject({ ok: true, provider: "rpc" });
  expect(rowOf(ended, "rpc", "boot")).toMatchObject({
    state: "ok",
    detail: "can be set, cannot be read back",
  });
  expect(statesOf(ended, "rpc")).toMatchObject({ power: "ok", media: "ok", users: "unsupported" });
  expect(rowOf(ended, "rpc", "certificate")?.detail).toMatch(/^expires in \d+ days/);
  expect(consumer.calls.map(({ method }) => method)).toEqual(["getPowerState"]);
});

it.concurrent("a switch has no boot override, which fails unless it is left out", async () => {
  const home = await startHomeAssistant();
  const env = {
    BMC_HOST: "node-7",
    BMC_PASSWORD: home.token,
    BMC_TLS_VERIFY: "false",
    HOMEASSISTANT_URL: home.http.url,
    HOMEASSISTANT_ENTITY: home.entity,
  };

  const asked = await runAction("check", { env });
  const leftOut = await runAction("check", { env: { ...env, REQUIRE: "power" } });
  await home.close();

  expect(resultOf(asked)).toMatchObject({
    class: "unsupported",
    message: "boot: homeassistant: there is nothing to set",
  });
  expect(resultOf(leftOut)).toMatchObject({
    ok: true,
    message: expect.stringMatching(/^all 2 required checks passed; homeassistant: [23] of /),
  });
  expect(home.machine.commands).toEqual([]);
});
