import { afterEach, describe, expect, test } from "vitest";
import { rpc } from "../../../../../shared/bmc/providers/rpc/rpc-provider.ts";
import type { Reply } from "../../../../../simulators/http-listener.ts";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import {
  json,
  type RpcConsumerOptions,
  type RpcConsumerServer,
  startRpcConsumer,
} from "../../../../../simulators/rpc/consumer.ts";
import { resultOf, runAction } from "../../../../actions/action-run.ts";
import { clientOf, errorOf, openSession, signal } from "../../service-lab.ts";

let consumer: RpcConsumerServer;
afterEach(() => consumer.close());

async function start(options: RpcConsumerOptions = {}): Promise<void> {
  consumer = await startRpcConsumer({ tls: "http", ...options });
}

const connection = (
  options: Readonly<Record<string, unknown>> = {},
  more: Readonly<Record<string, unknown>> = {},
) => ({
  host: "rack 3 / node 7",
  requestTimeoutMs: 2_000,
  rpc: { url: `${consumer.http.url}/hook?site=a`, ...options },
  ...more,
});

const open = (...given: Parameters<typeof connection>) => openSession(rpc, connection(...given));

const pxeOnce = { device: "pxe", persistent: false, mode: "uefi" } as const;

describe("a request", () => {
  test("is what the peers send", async () => {
    await start();
    await using session = await open({ headers: { "X-Team": ["a", "b"], "X-Key": ["k"] } });

    await session.boot.write(pxeOnce, signal);

    const [, request] = consumer.http.requests;
    expect(request).toMatchObject({ method: "POST", path: "/hook?site=a" });
    expect(request?.headers).toMatchObject({
      "content-type": "application/json",
      "x-team": "a,b",
      "x-key": "k",
      "x-bmclib-timestamp": expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    expect(request?.headers).not.toHaveProperty("x-bmclib-signature-256");
    expect(request?.body).toMatch(
      /^\{"id":\d{19},"host":"rack 3 \/ node 7","method":"setBootDevice","params":\{"device":"pxe","persistent":false,"efiBoot":true\}\}$/,
    );
  });

  test("has an ID of its own each time", async () => {
    await start();
    await using session = await open();
    await session.power.read(signal);
    await session.power.read(signal);

    const ids = consumer.bodies.map((body) => /"id":(\d+)/.exec(body)?.[1]);

    expect(new Set(ids).size).toBe(3);
  });

  test("goes as the options say, into a payload of one's own", async () => {
    await start({ embeddedAt: "data.request" });
    await using session = await open({
      method: "PUT",
      contentType: "application/vnd.example+json",
      timestampHeader: "X-When",
      timestampFormat: "20060102",
      embed: { payload: { kind: "bmc", data: { v: 1 } }, path: "data.request" },
    });

    expect(await session.power.read(signal)).toBe("on");
    const request = consumer.http.requests.at(-1);
    expect(request?.method).toBe("PUT");
    expect(request?.headers).toMatchObject({
      "content-type": "application/vnd.example+json",
      "x-when": expect.stringMatching(/^\d{8}$/),
    });
    expect(request?.body).toMatch(/^\{"kind":"bmc","data":\{"v":1,"request":\{"id":/);
  });

  test.each([
    ["bmclib", "sha256", {}, "x-bmclib-signature-256", []],
    ["bmclib", "sha512", {}, "x-bmclib-signature-512", []],
    ["rufio", "sha256", {}, "x-rufio-signature-256", ["x-rufio-timestamp"]],
    ["bmclib", "sha256", { header: "X-Mine", algorithmInHeader: false }, "x-mine", []],
    [
      "bmclib",
      "sha256",
      { includedHeaders: ["X-Team", "Content-Type"] },
      "x-bmclib-signature-256",
      ["x-team", "content-type"],
    ],
    ["bmclib", "sha512", { algorithmInValue: false }, "x-bmclib-signature-512", []],
  ] as const)("is signed (%s, %s, %o) so that a consumer can verify it", async (...given) => {
    const [naming, algorithm, more, header, included] = given;
    const prefixed = !("algorithmInValue" in more);
    await start({ signature: { algorithm, secrets: ["new"], header, included, prefixed } });
    const signature = { secrets: { [algorithm]: ["old", "new"] }, ...more };

    await using session = await open({ naming, headers: { "X-Team": ["a"] }, signature });

    expect(await session.power.read(signal)).toBe("on");
    expect(consumer.refusedSignatures).toBe(0);
  });

  test("with a wrong secret is class auth with the consumer's words, and not repeated", async () => {
    const header = "x-bmclib-signature-256";
    await start({
      signature: { algorithm: "sha256", secrets: ["right"], header, included: [], prefixed: true },
    });
    await using client = clientOf(connection({ signature: { secrets: { sha256: "wrong" } } }));

    const error = await errorOf(client.getPower(signal));

    expect(error).toMatchObject({
      class: "auth",
      message: expect.stringContaining("ping answered 401: the signature does not verify (code 401)"),
    });
    expect(consumer.refusedSignatures).toBe(1);
  });
});

describe("opening", () => {
  test("pings, and does not mind what the consumer says of it", async () => {
    await start();
    consumer.scripted.push(json(200, { id: 1, host: "x", error: { code: 7, message: "no ping here" } }));

    await using session = await open();

    expect(session.roundTrips()).toBe(1);
  });

  test.each<[string, Reply, string, RegExp]>([
    ["404", { status: 404 }, "bmc", /^ping answered 404$/],
    ["no JSON", { status: 200, body: "pong" }, "protocol", /a body that is not JSON$/],
    ["another shape", { status: 200, body: "[]" }, "protocol", /JSON without id, host, result and error/],
    ["a redirect", { status: 307, headers: { Location: "http://127.0.0.1:1/" } }, "bmc", /answered 307$/],
  ])("needs 200 and JSON, not %s", async (_, reply, errorClass, reason) => {
    await start();
    consumer.scripted.push(reply);

    const error = await errorOf(open());

    expect(error).toMatchObject({ class: errorClass, message: expect.stringMatching(reason) });
  });
});

describe("an answer", () => {
  const answers: readonly (readonly [string, Reply, string, boolean, RegExp])[] = [
    [
      "with an error",
      json(200, { error: { code: 3, message: "rack is locked" } }),
      "bmc",
      false,
      /^setPowerState: the consumer refused: rack is locked \(code 3\)$/,
    ],
    ...(
      ["rack is locked", { message: "rack is locked" }, { code: "", message: "rack is locked" }] as const
    ).map((error): (typeof answers)[number] => [
      `with words alone: ${JSON.stringify(error)}`,
      json(200, { error }),
      "bmc",
      false,
      /^setPowerState: the consumer refused: rack is locked$/,
    ]),
    [
      "500 with an error",
      json(500, { error: { code: 1, message: "oops" } }),
      "bmc",
      true,
      /^setPowerState answered 500: oops \(code 1\)$/,
    ],
    ["502 of a gateway", { status: 502, body: "<html>" }, "bmc", true, /answered 502$/],
    ["503 of a gateway", { status: 503 }, "busy", true, /answered 503$/],
    ["503", { status: 503, headers: { "Retry-After": "4" } }, "busy", false, /answered 503$/],
    ["empty", { status: 200 }, "protocol", true, /answered 200 with no body$/],
    ["cut off", { status: 200, body: '{"id":' }, "protocol", true, /not JSON$/],
    [
      "above 512 KiB",
      { status: 200, body: `"${"x".repeat(524_288)}"` },
      "protocol",
      true,
      /more than 524288 bytes$/,
    ],
  ];
  test.each(answers)("that is %s is its own error", async (_, reply, errorClass, uncertain, reason) => {
    await start();
    await using session = await open();
    consumer.scripted.push(reply);

    const error = await errorOf(session.power.send("off", signal));

    expect(error).toMatchObject({ class: errorClass, uncertain, message: expect.stringMatching(reason) });
    expect(consumer.machine.count("off")).toBe(0);
  });

  test("may come without a length and with an error of code 0", async () => {
    await start();
    await using session = await open();
    const reply = json(200, { result: "off", error: { code: 0, message: "" } });
    consumer.scripted.push({ ...reply, chunked: true });

    expect(await session.power.read(signal)).toBe("off");
  });

  test.each([
    ["on", "on"],
    [" OFF ", "off"],
    ["rebooting", "unknown"],
  ])("of %j to a power reading is %s", async (result, power) => {
    await start();
    await using session = await open();
    consumer.scripted.push(json(200, { result }));

    expect(await session.power.read(signal)).toBe(power);
  });

  test.each([
    [true, "a value of type boolean"],
    [["on"], "a list"],
    [undefined, "none"],
  ])("of %j to a power reading is class protocol", async (result, described) => {
    await start();
    await using session = await open();
    consumer.scripted.push(json(200, { result }));

    const error = await errorOf(session.power.read(signal));

    expect(error).toMatchObject({
      class: "protocol",
      message: `getPowerState: expected a string as result, got ${described}`,
    });
  });
});

test.each([
  ["on", "off", "on"],
  ["off", "on", "off"],
  ["soft-off", "on", "soft"],
  ["cycle", "on", "cycle"],
  ["reset", "on", "reset"],
] as const)("%s is sent as a power state", async (command, power, state) => {
  await start({ machines: { "rack 3 / node 7": new SimulatedMachine({ power }) } });
  await using session = await open();

  await session.power.send(command, signal);

  expect(consumer.calls.at(-1)?.params).toEqual({ state });
  expect(consumer.machine.count(command)).toBe(1);
});

describe("through the client", () => {
  test("a boot device is accepted, and nothing more is claimed", async () => {
    await start();
    await using client = clientOf(connection());

    const plan = await client.planBoot(pxeOnce, signal);
    const report = await client.setBoot(pxeOnce, signal);
    const read = await errorOf(client.getBoot(signal));

    expect(plan.before).toEqual({ device: "unknown" });
    expect(report).toEqual({
      after: { device: "unknown" },
      changed: true,
      summary: "boot pxe once (uefi) accepted, cannot be read back",
    });
    expect(read.class).toBe("unsupported");
    expect(consumer.machine.override).toEqual({ device: "pxe", enabled: "once", mode: "uefi" });
  });

  test("a boot device that the consumer refuses is its refusal", async () => {
    await start();
    await using client = clientOf(connection());
    await client.getPower(signal);
    consumer.scripted.push(json(200, { error: { code: 9, message: "no" } }));

    expect(await errorOf(client.setBoot(pxeOnce, signal))).toMatchObject({
      class: "bmc",
      message: "rpc: setBootDevice: the consumer refused: no (code 9)",
    });
  });

  test("a boot device whose answer is lost is sent once more", async () => {
    await start();
    await using client = clientOf(connection());
    await client.getPower(signal);
    consumer.http.fail("close-after");

    expect((await client.setBoot(pxeOnce, signal)).changed).toBe(true);
    expect(consumer.calls.filter(({ method }) => method === "setBootDevice")).toHaveLength(2);
  });
});

test("an action reaches a consumer with an opaque host and no credentials, and keeps the secret to itself", async () => {
  const secret = "canary-rpc-secret";
  await start({
    signature: {
      algorithm: "sha256",
      secrets: [secret],
      header: "x-rufio-signature-256",
      included: ["x-rufio-timestamp"],
      prefixed: true,
    },
  });

  const ended = await runAction("power-off", {
    env: {
      BMC_HOST: "rack 3 / node 7",
      RPC_URL: consumer.http.url,
      RPC_NAMING: "rufio",
      RPC_SECRET: secret,
      MODE: "hard",
      LOG_LEVEL: "debug",
    },
  });

  expect(resultOf(ended)).toMatchObject({ ok: true, provider: "rpc", after: "off" });
  expect(ended.stdout + ended.stderr).not.toContain(secret);
  expect(consumer.calls[0]?.host).toBe("rack 3 / node 7");
});
