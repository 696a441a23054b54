import { Client } from "undici";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { type RedfishBmc, type RedfishBmcOptions, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { redfishProfile, redfishProfiles } from "../../../simulators/redfish/profiles.ts";
import { SESSIONS } from "../../../simulators/redfish/sessions.ts";

const SYSTEM = "/redfish/v1/Systems/1";
const authorization = `Basic ${Buffer.from("admin:calvin").toString("base64")}`;

let bmc: RedfishBmc;
let client: Client;
beforeEach(() => start());
afterEach(stop);

async function start(options: RedfishBmcOptions = {}): Promise<void> {
  bmc = await startRedfishBmc({ tls: "http", ...options });
  client = new Client(bmc.url);
}

async function stop(): Promise<void> {
  await client.destroy();
  await bmc.close();
}

async function restart(options: RedfishBmcOptions): Promise<void> {
  await stop();
  await start(options);
}

async function call(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: unknown, headers = {}) {
  const answer = await client.request({
    method,
    path,
    headers: { authorization, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: text === "" ? undefined : JSON.parse(text),
  };
}

const boot = (target: string, enabled = "Once") => ({
  Boot: { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled },
});

test("the service root needs no credentials, everything else does", async () => {
  const root = await call("GET", "/redfish/v1/", undefined, { authorization: "" });
  const system = await call("GET", SYSTEM, undefined, { authorization: "" });

  expect(root).toMatchObject({ status: 200, body: { Systems: { "@odata.id": "/redfish/v1/Systems" } } });
  expect(system).toMatchObject({ status: 401, headers: { "www-authenticate": 'Basic realm="BMC"' } });
  expect(bmc.refusedCredentials).toBe(1);
});

test("a reset takes its time and shows it", async () => {
  await restart({ machines: [new SimulatedMachine({ powerOffMs: 200 })] });

  const accepted = await call("POST", `${SYSTEM}/Actions/ComputerSystem.Reset`, { ResetType: "ForceOff" });
  const meanwhile = await call("GET", SYSTEM);

  expect(accepted.status).toBe(204);
  expect(meanwhile.body.PowerState).toBe("PoweringOff");
  await expect.poll(async () => (await call("GET", SYSTEM)).body.PowerState).toBe("Off");
});

test("a reset that is not offered or not possible is refused with its message", async () => {
  const unknown = await call("POST", `${SYSTEM}/Actions/ComputerSystem.Reset`, { ResetType: "Explode" });
  const impossible = await call("POST", `${SYSTEM}/Actions/ComputerSystem.Reset`, { ResetType: "On" });

  expect(unknown.status).toBe(400);
  expect(unknown.body.error["@Message.ExtendedInfo"][0].MessageId).toBe(
    "Base.1.8.ActionParameterValueNotInList",
  );
  expect(impossible.status).toBe(409);
  expect(bmc.machine.commands).toEqual([]);
});

test("a one-time override is used up by the boot it decides", async () => {
  await restart({ machines: [new SimulatedMachine({ power: "off", powerOnMs: 0 })] });

  await call("PATCH", SYSTEM, boot("Pxe"));
  await call("POST", `${SYSTEM}/Actions/ComputerSystem.Reset`, { ResetType: "On" });
  await expect.poll(() => bmc.machine.lastBoot).toMatchObject({ device: "pxe", overridden: true });

  expect((await call("GET", SYSTEM)).body.Boot).toMatchObject({
    BootSourceOverrideTarget: "None",
    BootSourceOverrideEnabled: "Disabled",
  });
});

describe("sessions", () => {
  const login = (Password = "calvin") =>
    call("POST", SESSIONS, { UserName: "admin", Password }, { authorization: "" });

  test("open with the right password, carry requests, and close", async () => {
    const opened = await login();
    const headers = { authorization: "", "x-auth-token": String(opened.headers["x-auth-token"]) };
    const read = await call("GET", SYSTEM, undefined, headers);
    const closed = await call("DELETE", String(opened.headers["location"]), undefined, headers);
    const afterwards = await call("GET", SYSTEM, undefined, headers);

    expect([opened.status, read.status, closed.status, afterwards.status]).toEqual([201, 200, 204, 401]);
    expect(bmc.sessions.count).toBe(0);
  });

  test("are refused with a wrong password and when the slots are full", async () => {
    await restart({ sessionLimit: 1 });

    const statuses = [(await login("wrong")).status, (await login()).status, (await login()).status];

    expect(statuses).toEqual([401, 201, 503]);
    expect(bmc.sessions.count).toBe(1);
  });
});

test("a profile that requires If-Match answers 428, 412 and then takes the right tag", async () => {
  await restart({ profile: { ...profile("generic"), ifMatch: "required" } });
  const { headers } = await call("GET", SYSTEM);

  const without = await call("PATCH", SYSTEM, boot("Pxe"));
  const wrong = await call("PATCH", SYSTEM, boot("Pxe"), { "if-match": '"nonsense"' });
  const right = await call("PATCH", SYSTEM, boot("Pxe"), { "if-match": String(headers["etag"]) });

  expect([without.status, wrong.status, right.status]).toEqual([428, 412, 204]);
});

test("the tag of a system changes with its state", async () => {
  const before = await call("GET", SYSTEM);
  await call("PATCH", SYSTEM, boot("Pxe"));
  const after = await call("GET", SYSTEM);

  expect(before.headers["etag"]).not.toBe(after.headers["etag"]);
});

test("faults come in the order and number they were asked for, then everything is well again", async () => {
  bmc.fail({ kind: "refuse", retryAfter: "3", times: 2 });

  const answers = [await call("GET", SYSTEM), await call("GET", SYSTEM), await call("GET", SYSTEM)];

  expect(answers.map(({ status }) => status)).toEqual([503, 503, 200]);
  expect(answers[0]?.headers["retry-after"]).toBe("3");
});

test("a forgotten request is answered and not carried out", async () => {
  bmc.fail({ kind: "forget", method: "POST" });

  const { status } = await call("POST", `${SYSTEM}/Actions/ComputerSystem.Reset`, { ResetType: "ForceOff" });

  expect(status).toBe(204);
  expect(bmc.machine.commands).toEqual([]);
});

test.each([
  ["reset-before", 0],
  ["reset-after", 1],
] as const)("%s resets the connection, and the request was carried out %i times", async (kind, times) => {
  bmc.fail({ kind, method: "POST" });
  const reset = call("POST", `${SYSTEM}/Actions/ComputerSystem.Reset`, { ResetType: "ForceOff" });

  await expect(reset).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(bmc.machine.count("off")).toBe(times);
});

test("a restart ends sessions and connections, and the BMC then answers at the same address", async () => {
  const opened = await call(
    "POST",
    SESSIONS,
    { UserName: "admin", Password: "calvin" },
    { authorization: "" },
  );

  await bmc.restart(20);
  const again = await call("GET", SYSTEM);

  expect(opened.status).toBe(201);
  expect(bmc.sessions.count).toBe(0);
  expect(again.status).toBe(200);
});

test("every resource that a collection lists is there, on every page and expanded", async () => {
  await restart({ profile: "paging" });
  const lists = [
    "Managers",
    "AccountService/Accounts",
    "Systems/1/Memory",
    "UpdateService/FirmwareInventory",
  ];

  for (const list of lists) {
    const members: Record<string, unknown>[] = [];
    let next: string | undefined = `/redfish/v1/${list}?$expand=.`;
    while (next !== undefined) {
      const page = await call("GET", next);
      members.push(...page.body.Members);
      next = page.body["Members@odata.nextLink"];
    }
    const { body } = await call("GET", `/redfish/v1/${list}`);
    expect(members).toHaveLength(body["Members@odata.count"]);
    expect(members.every(({ Id }) => typeof Id === "string")).toBe(true);
  }
});

test("requests and connections are counted", async () => {
  await call("GET", SYSTEM);
  await call("GET", SYSTEM);

  expect(bmc.log).toEqual([`GET ${SYSTEM}`, `GET ${SYSTEM}`]);
  expect(bmc.connections).toBe(1);
});

test.each(Object.keys(redfishProfiles))("profile %s serves a system that is on", async (name) => {
  await restart({ profile: name });

  const { status, body } = await call("GET", bmc.systemPaths[0] ?? "", undefined, {
    "accept-encoding": "gzip",
  });

  expect(status).toBe(200);
  expect(body.PowerState).toBe("On");
});

test("an unknown profile is refused", async () => {
  await expect(startRedfishBmc({ profile: "nonesuch" })).rejects.toThrow("no profile nonesuch");
});

function profile(name: string) {
  const found = redfishProfile(name);
  return found;
}

// The profile `closing` ends connections that the client of this test keeps.
test.each(Object.keys(redfishProfiles).filter((name) => name !== "closing"))(
  "on %s every link leads to a resource that names its schema",
  async (profile) => {
    await restart({ profile });
    const seen = new Set<string>();
    const follow = async (path: string): Promise<void> => {
      if (seen.has(path)) return;
      seen.add(path);
      const { status, body } = await call("GET", path);
      expect(`${path} ${status} ${body["@odata.type"]}`).toMatch(/ 200 #\w+\./);
      for (const link of linksIn(body)) await follow(link);
    };

    await follow("/redfish/v1/");

    expect([...seen].filter((path) => /AccountService|LogServices/.test(path)).length).toBeGreaterThan(3);
  },
);

function linksIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = "@odata.id" in value ? [String(value["@odata.id"])] : [];
  return [...own, ...Object.values(value).flatMap(linksIn)];
}

test("the documents of the protocol need no login", async () => {
  const read = (path: string) => client.request({ method: "GET", path });

  const versions = await read("/redfish");
  const service = await read("/redfish/v1/odata");
  const metadata = await read("/redfish/v1/$metadata");

  expect(await versions.body.json()).toEqual({ v1: "/redfish/v1/" });
  expect(JSON.stringify(await service.body.json())).toContain("/redfish/v1/AccountService");
  expect(metadata.headers["content-type"]).toMatch(/^application\/xml/);
  expect(await metadata.body.text()).toContain("<EntityContainer");
});

test("HEAD is GET without a body, and another OData version is refused", async () => {
  const head = await client.request({ method: "HEAD", path: "/redfish/v1/" });
  const newer = await call("GET", "/redfish/v1/", undefined, { "odata-version": "4.1" });

  expect(head.statusCode).toBe(200);
  expect(head.headers["link"]).toContain("ServiceRoot.v1_9_0.json>; rel=describedby");
  expect(await head.body.text()).toBe("");
  expect(newer.status).toBe(412);
});

test("an override may come with the URI of HTTP boot, or without one", async () => {
  const patch = (HttpBootUri: string | null) =>
    call("PATCH", SYSTEM, { Boot: { ...boot("UefiHttp").Boot, HttpBootUri } });

  expect((await patch("http://127.0.0.1/a.efi")).status).toBe(204);
  expect(bmc.machine.httpBootUri).toBe("http://127.0.0.1/a.efi");
  expect((await patch(null)).status).toBe(204);
  expect(bmc.machine).toMatchObject({ httpBootUri: "", override: { device: "uefi-http" } });
});

test("If-Match may be left out, but must match", async () => {
  const wrong = await call("PATCH", SYSTEM, boot("Pxe"), { "if-match": '"old"' });
  const right = await call("PATCH", SYSTEM, boot("Pxe"), {
    "if-match": (await call("GET", SYSTEM)).headers["etag"],
  });

  expect([wrong.status, right.status]).toEqual([412, 204]);
});

test("an account has types and a role, and a session can be read", async () => {
  const account = await call("GET", "/redfish/v1/AccountService/Accounts/1");
  const role = await call("GET", account.body.Links.Role["@odata.id"]);
  const login = await call("POST", SESSIONS, { UserName: "admin", Password: "calvin" });
  const session = await call("GET", String(login.headers["location"]));

  expect(account.body.AccountTypes).toEqual(["Redfish"]);
  expect(role.body).toMatchObject({ RoleId: "Administrator", IsPredefined: true });
  expect(session.body).toMatchObject({ UserName: "admin", "@odata.type": "#Session.v1_3_0.Session" });
});
