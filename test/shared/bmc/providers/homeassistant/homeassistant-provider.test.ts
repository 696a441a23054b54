import { afterEach, describe, expect, test } from "vitest";
import { homeAssistant } from "../../../../../shared/bmc/providers/homeassistant/homeassistant-provider.ts";
import {
  type HomeAssistantOptions,
  type HomeAssistantServer,
  startHomeAssistant,
} from "../../../../../simulators/homeassistant/server.ts";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import { resultOf, runAction } from "../../../../actions/action-run.ts";
import { clientOf, errorOf, openSession, signal } from "../../service-lab.ts";

let server: HomeAssistantServer;
afterEach(() => server.close());

async function start(options: HomeAssistantOptions = {}): Promise<void> {
  server = await startHomeAssistant({ tls: "http", ...options });
}

const connection = (
  options: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, unknown>> = {},
) => ({
  host: "node-1",
  password: server.token,
  requestTimeoutMs: 2_000,
  homeassistant: { url: server.http.url, entity: server.entity, ...options },
  ...more,
});

const open = (...given: Parameters<typeof connection>) => openSession(homeAssistant, connection(...given));

const pxeOnce = { device: "pxe", persistent: false, mode: "keep" } as const;
const off = { verb: "off", mode: "hard", softTimeoutMs: 1_000, timeoutMs: 60_000 } as const;

describe("a switch", () => {
  test("is read with the token, once for opening and the first reading", async () => {
    await start();
    await using session = await open();

    expect(await session.power.read(signal)).toBe("on");
    expect(server.http.requests).toHaveLength(1);
    expect(server.http.requests[0]).toMatchObject({ method: "GET", path: "/api/states/switch.node_1" });
    expect(server.http.requests[0]?.headers.authorization).toBe("Bearer token-calvin");
  });

  test("is turned off and on", async () => {
    await start();
    await using session = await open();

    await session.power.send("off", signal);
    await expect.poll(() => server.machine.power).toBe("off");
    await session.power.send("on", signal);

    expect(server.machine.commands.map(({ action }) => action)).toEqual(["off", "on"]);
    expect(server.http.requests[1]).toMatchObject({
      method: "POST",
      path: "/api/services/switch/turn_off",
      body: '{"entity_id":"switch.node_1"}',
    });
  });

  test("that is out of reach is neither on nor off", async () => {
    await start();
    server.available = false;
    await using session = await open();

    expect(await session.power.read(signal)).toBe("unknown");
  });

  test.each(["soft-off", "cycle", "reset"] as const)("has no %s", async (command) => {
    await start();
    await using session = await open();

    const planned = await errorOf(session.power.plan(command, signal));
    const sent = await errorOf(session.power.send(command, signal));

    expect([planned.class, sent.class]).toEqual(["unsupported", "unsupported"]);
    expect(server.http.requests).toHaveLength(1);
  });

  test("is given its time after a command, and gives it back when cancelled", async () => {
    await start();
    await using session = await open({ powerOperationDelayMs: 200 });
    await using patient = await open({ powerOperationDelayMs: 600_000 });
    const startMs = performance.now();

    await session.power.send("off", signal);
    const tookMs = performance.now() - startMs;
    const controller = new AbortController();
    const sending = patient.power.send("off", controller.signal);
    await expect.poll(() => server.machine.count("off")).toBe(1);
    controller.abort(new Error("enough"));

    expect(tookMs).toBeGreaterThanOrEqual(199);
    await expect(sending).rejects.toThrow("enough");
  });
});

describe("opening fails", () => {
  test.each([
    ["with a wrong token", {}, { password: "wrong" }, "auth", "GET /api/states/switch.node_1 answered 401"],
    [
      "with a switch that is not there",
      { entity: "switch.other" },
      {},
      "bmc",
      "GET /api/states/switch.other answered 404: Entity not found.",
    ],
    ["with a token that cannot be one", {}, { password: "a\nb" }, "usage", /not an access token/],
    ["without a token", {}, { password: undefined }, "usage", /password is missing/],
  ])("%s", async (_, options, more, errorClass, message) => {
    await start();

    const error = await errorOf(open(options, more));

    expect(error.class).toBe(errorClass);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain("wrong");
  });
});

test("a path in the URL goes before the API's own", async () => {
  await start();

  const error = await errorOf(open({ url: `${server.http.url}/ha/` }));

  expect(error.class).toBe("bmc");
  expect(server.http.requests[0]?.path).toBe("/ha/api/states/switch.node_1");
});

test.each([
  ["close-before", 0],
  ["close-after", 1],
] as const)("a command whose answer is lost (%s) is uncertain", async (fault, count) => {
  await start();
  await using session = await open();
  server.http.fail(fault);

  const error = await errorOf(session.power.send("off", signal));

  expect(error).toMatchObject({ class: "unreachable", uncertain: true });
  expect(server.machine.count("off")).toBe(count);
});

describe("through the client", () => {
  test("a switch that stays out of reach is no success", async () => {
    await start();
    server.available = false;
    await using client = clientOf(connection());

    const error = await errorOf(client.setPower(off, signal));

    expect(error).toMatchObject({
      class: "timeout",
      message: expect.stringMatching(/^homeassistant: not off/),
    });
  });

  test("a boot device is ignored, and the report says so", async () => {
    await start();
    await using client = clientOf(connection());

    const plan = await client.planBoot(pxeOnce, signal);
    const report = await client.setBoot(pxeOnce, signal);

    expect(plan.steps).toEqual(["nothing: a switch in Home Assistant has no boot device"]);
    expect(report).toEqual({
      after: { device: "unknown" },
      changed: false,
      summary: "boot pxe once ignored, there is nothing to set",
    });
    expect(server.http.requests.filter(({ method }) => method === "POST")).toEqual([]);
  });
});

test("an action switches a machine on with a token from a file of the connection", async () => {
  await start({ machine: new SimulatedMachine({ power: "off" }) });

  const ended = await runAction("power-on", {
    env: { BMC_CONNECTION_FILE: "-" },
    stdin: JSON.stringify(connection({}, { machine: "node-1" })),
  });

  expect(resultOf(ended)).toMatchObject({ ok: true, provider: "homeassistant", after: "on" });
  expect(ended.stdout + ended.stderr).not.toContain(server.token);
  expect(server.machine.count("on")).toBe(1);
});
