import { afterEach, describe, expect, test } from "vitest";
import { ironic } from "../../../../../shared/bmc/providers/ironic/ironic-provider.ts";
import {
  type IronicOptions,
  type IronicServer,
  startIronic,
} from "../../../../../simulators/ironic/server.ts";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import { resultOf, runAction } from "../../../../actions/action-run.ts";
import { clientOf, errorOf, openSession, signal } from "../../service-lab.ts";

let server: IronicServer;
afterEach(() => server.close());

async function start(options: IronicOptions = {}): Promise<void> {
  server = await startIronic({ tls: "http", ...options });
}

const connection = (options: Readonly<Record<string, unknown>> = {}, more: object = {}) => ({
  requestTimeoutMs: 2_000,
  ironic: { url: server.http.url, node: "node-1", ...options },
  ...more,
});
const login = { username: "admin", password: "ironic-calvin" };
const requests = () =>
  server.http.requests.map(({ method, path }) => `${method} ${path.replace(/\?.*/, "")}`);
const writes = () => server.http.requests.filter(({ method }) => method !== "GET");
const machine = () => server.node().machine;

const pxeOnce = { device: "pxe", persistent: false, mode: "keep" } as const;
const off = { verb: "off", mode: "hard", softTimeoutMs: 1_000, timeoutMs: 60_000 } as const;

describe("power", () => {
  test("is read with one request, which opens the session", async () => {
    await start();
    await using client = clientOf(connection());

    const state = await client.getPower(signal);

    expect(state).toBe("on");
    expect(requests()).toEqual(["GET /v1/nodes/node-1"]);
    expect(client.provider).toBe("ironic");
  });

  test("goes off, on, through a cycle of off and on, and a reboot", async () => {
    await start();
    await using client = clientOf(connection());

    const down = await client.setPower(off, signal);
    const up = await client.setPower({ verb: "on", timeoutMs: 60_000 }, signal);
    const cycled = await client.setPower({ verb: "cycle", offDurationMs: 0, timeoutMs: 60_000 }, signal);
    const reset = await client.setPower({ verb: "reset", onIfOff: false, timeoutMs: 60_000 }, signal);

    expect([down.after, up.after, cycled.after, reset.after]).toEqual(["off", "on", "on", "on"]);
    expect(cycled.summary).toMatch(/off for 5.0 s, then on/);
    expect(machine().commands.map(({ action }) => action)).toEqual(["off", "on", "off", "on", "cycle"]);
  });

  test("goes off gracefully, for as long as the action waits, and then by force", async () => {
    await start({ machines: { "node-1": new SimulatedMachine({ softOffMs: "never" }) } });
    await using client = clientOf(connection());

    const report = await client.setPower({ ...off, mode: "soft-then-hard", softTimeoutMs: 500 }, signal);

    expect(report.summary).toMatch(/forced, still on/);
    expect(JSON.parse(writes()[0]?.body ?? "")).toEqual({ target: "soft power off", timeout: 1 });
    expect(machine().commands.map(({ action }) => action)).toEqual(["soft-off", "off"]);
  });

  test("that Ironic could not change fails with Ironic's reason", async () => {
    await start();
    server.node().nextError = "Failed to change power state to 'power off': BMC is away";
    await using client = clientOf(connection());

    const error = await errorOf(client.setPower(off, signal));

    expect(error).toMatchObject({ class: "bmc", message: expect.stringContaining("BMC is away") });
    expect(writes()).toHaveLength(1);
  });

  test("a reboot whose answer was lost is an error, and not repeated", async () => {
    await start();
    await using session = await openSession(ironic, connection());
    server.http.fail("close-after");

    const error = await errorOf(session.power.send("reset", signal));

    expect(error).toMatchObject({ class: "unreachable", uncertain: true });
    expect(machine().count("cycle")).toBe(1);
  });
});

test("an error in an answer with a status of success is an error", async () => {
  await start();
  const body = JSON.stringify({ error_message: { faultstring: "no such driver", faultcode: "Server" } });
  await using session = await openSession(ironic, connection());
  server.http.gateway = (request, response, handle) => {
    if (request.method === "PUT") response.writeHead(200).end(body);
    else handle(request, response);
  };

  const error = await errorOf(session.power.send("reset", signal));

  expect(error).toMatchObject({ class: "bmc", uncertain: true });
  expect(error.message).toContain("answered 200: no such driver");
});

describe("a locked node", () => {
  test("is waited for beyond the attempts of a busy BMC", async () => {
    await start();
    server.node().lock(1_500);
    await using client = clientOf(connection());

    const report = await client.setPower(off, signal);

    expect(report.after).toBe("off");
    expect(writes().length).toBeGreaterThan(6);
    expect(machine().count("off")).toBe(1);
  });

  test("is waited for until the action's time is over", async () => {
    await start();
    server.node().lock(60_000);
    await using client = clientOf(connection());

    const error = await errorOf(client.setPower(off, AbortSignal.timeout(300)));

    expect(error.class).toBe("timeout");
    expect(machine().count("off")).toBe(0);
  });
});

describe("a node in use", () => {
  test.each([
    [
      "maintenance",
      { maintenance: true, maintenance_reason: "new disks" },
      /in maintenance, "new disks" \(state manageable\)/,
    ],
    ["transition", { provision_state: "cleaning" }, /between two provisioning states \(state cleaning\)/],
    ["transition", { provision_state: "of a later release" }, /between two provisioning states/],
    [
      "instance",
      { provision_state: "active", instance_uuid: "i-1", owner: "o-1", lessee: "l-1" },
      /in use as instance i-1 \(state active, owner o-1, lessee l-1\)/,
    ],
  ])("in %s is read, and changed only if the entry allows it", async (kind, facts, message) => {
    await start();
    Object.assign(server.node().facts, facts);
    await using client = clientOf(connection());
    await using allowed = clientOf(connection({ allow: [kind] }));

    const state = await client.getPower(signal);
    const errors = [
      await errorOf(client.setPower(off, signal)),
      await errorOf(client.setBoot(pxeOnce, signal)),
      await errorOf(client.insertMedia("http://192.0.2.1/a.iso", signal)),
      await errorOf(client.sendNmi(signal)),
      await errorOf(client.planBoot(pxeOnce, signal)),
    ];

    expect(state).toBe("on");
    for (const error of errors)
      expect(error).toMatchObject({ class: "usage", message: expect.stringMatching(message) });
    expect(writes()).toEqual([]);
    expect((await allowed.setBoot(pxeOnce, signal)).summary).toBe("boot pxe once (uefi)");
  });
});

describe("the boot device", () => {
  test("is set once and read back with three requests", async () => {
    await start();
    await using client = clientOf(connection());

    const report = await client.setBoot({ ...pxeOnce, mode: "uefi" }, signal);

    expect(report).toMatchObject({
      after: { device: "pxe", persistent: false, mode: "uefi" },
      changed: true,
    });
    expect(requests()).toEqual([
      "GET /v1/nodes/node-1",
      "PUT /v1/nodes/node-1/management/boot_device",
      "GET /v1/nodes/node-1/management/boot_device",
    ]);
  });

  test("is set persistently, in another boot mode", async () => {
    await start();
    await using client = clientOf(connection());

    const report = await client.setBoot({ device: "disk", persistent: true, mode: "legacy" }, signal);

    expect(report.after).toEqual({ device: "disk", persistent: true, mode: "legacy" });
    expect(machine().override).toEqual({ device: "disk", enabled: "continuous", mode: "legacy" });
  });

  test("that Ironic or the driver lacks is unsupported", async () => {
    await start();
    await using client = clientOf(connection());

    const none = await errorOf(client.setBoot({ ...pxeOnce, device: "none" }, signal));
    const refused = await errorOf(client.setBoot({ ...pxeOnce, device: "floppy" }, signal));

    expect([none.class, refused.class]).toEqual(["unsupported", "unsupported"]);
    expect(refused.message).toMatch(/Invalid boot device specified/);
  });

  test("in a boot mode that Ironic could not set fails with Ironic's reason", async () => {
    await start();
    server.node().nextError = "Failed to change boot mode to 'bios'";
    await using client = clientOf(connection());

    const error = await errorOf(client.setBoot({ ...pxeOnce, mode: "legacy" }, signal));

    expect(error).toMatchObject({
      class: "bmc",
      message: expect.stringContaining("Failed to change boot mode"),
    });
  });
});

test("virtual media are inserted and ejected", async () => {
  await start();
  await using client = clientOf(connection());

  const inserted = await client.insertMedia("http://192.0.2.1/a.iso", signal);
  const ejected = await client.ejectMedia(signal);

  expect(inserted.after).toEqual({ inserted: true, image: "http://192.0.2.1/a.iso" });
  expect(ejected.after).toEqual({ inserted: false });
});

test("Secure Boot is switched on and read back; its keys are the BMC's own", async () => {
  await start();
  await using client = clientOf(connection());

  const report = await client.setSecureBoot(true, signal);
  const again = await client.setSecureBoot(true, signal);
  const keys = await errorOf(client.resetSecureBootKeys("default", undefined, signal));

  expect([report.before.enabled, report.after.enabled, again.changed]).toEqual([false, true, false]);
  expect(writes().map(({ body }) => body)).toEqual(['{"target":true}']);
  expect(keys.class).toBe("unsupported");
});

test("the identify LED is the system's indicator", async () => {
  await start();
  await using client = clientOf(connection());

  const lit = await client.setIndicator(true, signal);
  const dark = await client.setIndicator(false, signal);

  expect([lit.before, lit.after, dark.after]).toEqual(["off", "on", "off"]);
  expect(requests().filter((request) => request.endsWith("/indicators"))).toHaveLength(1);
});

test("an NMI reaches the machine", async () => {
  await start();
  await using client = clientOf(connection());

  await client.sendNmi(signal);

  expect(machine().count("nmi")).toBe(1);
});

test("the inventory is that of the last inspection", async () => {
  await start();
  await using client = clientOf(connection());

  const before = await errorOf(client.getHardware(signal));
  server.node().inventory = {
    cpu: { count: 64, model_name: "EPYC", architecture: "x86_64" },
    memory: { physical_mb: 2_048 },
    disks: [{ name: "/dev/sda", size: 480, rotational: false, serial: null }],
    interfaces: [{ name: "eno1", mac_address: "02:00:00:00:00:01", speed_mbps: 25_000 }],
    system_vendor: { manufacturer: "Dell", product_name: "R640", serial_number: "S1" },
  };
  const hardware = await client.getHardware(signal);

  expect(before).toMatchObject({
    class: "unsupported",
    message: expect.stringContaining("has not been inspected"),
  });
  expect(hardware).toEqual({
    system: { vendor: "Dell", model: "R640", serial: "S1", memoryBytes: 2_147_483_648 },
    processors: [{ name: "cpu", model: "EPYC", threads: 64 }],
    memory: [],
    disks: [{ name: "/dev/sda", bytes: 480, kind: "SSD" }],
    nics: [{ name: "eno1", mac: "02:00:00:00:00:01", speedMbps: 25_000 }],
    firmware: [],
  });
});

describe("authentication", () => {
  const keystone = () => ({ url: server.http.url, project: "metal" });

  test.each([
    ["basic", "basic", {}],
    ["keystone", "password", { project: { name: "metal", domain: { name: "Default" } } }],
    ["keystone", "application-credential", null],
  ] as const)("with %s: %s", async (kind, auth, scope) => {
    await start({ auth: kind });
    const wrong = { ...login, password: "wrong-password" };
    await using client = clientOf(connection({ auth, keystone: keystone() }, login));
    await using refused = clientOf(connection({ auth, keystone: keystone() }, wrong));

    const state = await client.getPower(signal);
    const error = await errorOf(refused.getPower(signal));

    expect(state).toBe("on");
    expect(error).toMatchObject({ class: "auth", refused: "login" });
    expect(error.message).not.toContain("wrong-password");
    if (kind === "keystone") expect(server.keystone.scopes).toEqual([scope]);
  });

  test("one token serves all requests, and is renewed when Ironic refuses it", async () => {
    await start({ auth: "keystone" });
    await using client = clientOf(connection({ auth: "password", keystone: keystone() }, login));

    await client.setBoot(pxeOnce, signal);
    const first = server.keystone.scopes.length;
    server.keystone.expire();
    await client.setPower(off, signal);

    expect([first, server.keystone.scopes.length]).toEqual([1, 2]);
    expect(machine().count("off")).toBe(1);
    expect(client.roundTrips).toBe(server.http.requests.length);
  });

  test("Keystone has a certificate of its own to accept", async () => {
    server = await startIronic({ auth: "keystone" });
    const { fingerprint } = server.http;
    const own = { ...login, tls: { fingerprint } };
    await using client = clientOf(
      connection({ auth: "password", keystone: { ...keystone(), fingerprint } }, own),
    );
    await using unknown = clientOf(connection({ auth: "password", keystone: keystone() }, own));

    const state = await client.getPower(signal);
    const error = await errorOf(unknown.getPower(signal));

    expect(state).toBe("on");
    expect(error.class).toBe("tls");
    expect(error.message).toContain(`ironic: {keystone: {fingerprint: "${fingerprint}"}} in the connection`);
  });

  test("a given token is the password; one that is refused ends the action", async () => {
    await start({ auth: "keystone" });
    await using client = clientOf(connection({ auth: "token" }, { password: "a-token" }));

    const error = await errorOf(client.getPower(signal));

    expect(error.class).toBe("auth");
    expect(server.http.requests[0]?.headers["x-auth-token"]).toBe("a-token");
    expect(server.http.requests).toHaveLength(1);
  });
});

describe("versions", () => {
  test("an older Ironic is asked in its own, and lacks what came later", async () => {
    await start({ minor: 72 });
    await using client = clientOf(connection());

    const state = await client.getPower(signal);
    const error = await errorOf(client.insertMedia("http://192.0.2.1/a.iso", signal));

    expect(state).toBe("on");
    expect(error).toMatchObject({
      class: "unsupported",
      message: expect.stringContaining("virtual media from API version 1.89, and this one has 1.72"),
    });
    expect(server.http.requests.at(-1)?.path).not.toContain("boot_mode");
  });

  test("one that is too old is said so", async () => {
    await start({ minor: 11 });

    const error = await errorOf(openSession(ironic, connection()));

    expect(error).toMatchObject({ class: "unsupported", message: expect.stringContaining("at least 1.50") });
  });
});

test("the URL may have a path, and end with the version", async () => {
  await start();

  const error = await errorOf(openSession(ironic, connection({ url: `${server.http.url}/baremetal/v1/` })));

  expect(error.class).toBe("usage");
  expect(requests()).toEqual(["GET /baremetal/v1/nodes/node-1"]);
});

test("a node that Ironic does not have is a wrong entry", async () => {
  await start();

  const error = await errorOf(openSession(ironic, connection({ node: "other" })));

  expect(error).toMatchObject({
    class: "usage",
    message: "GET /v1/nodes/other answered 404: Node other could not be found.",
  });
});

test("an action drives the node of its machine's name, with its connection from stdin", async () => {
  await start({ auth: "basic" });
  const { node: _, ...options } = connection({ auth: "basic" }).ironic as Record<string, unknown>;

  const ended = await runAction("set-pxe-once", {
    env: { BMC_CONNECTION_FILE: "-" },
    stdin: JSON.stringify({ machine: "node-1", ...login, ironic: options }),
  });

  expect(resultOf(ended)).toMatchObject({ ok: true, provider: "ironic" });
  expect(ended.stdout + ended.stderr).not.toContain(login.password);
  expect(machine().override.device).toBe("pxe");
});

test("an action by hand takes the node from variables, and needs no host", async () => {
  await start();

  const ended = await runAction("power-status", {
    env: { IRONIC_URL: server.http.url, IRONIC_NODE: "node-1" },
  });

  expect(resultOf(ended)).toMatchObject({
    ok: true,
    provider: "ironic",
    message: expect.stringContaining("on"),
  });
});
