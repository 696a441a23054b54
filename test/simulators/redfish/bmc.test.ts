import { Client } from "undici";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type RedfishBmc, type RedfishBmcOptions, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { redfishProfiles } from "../../../simulators/redfish/profiles.ts";
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

test("the service root needs no credentials, everything else does", async () => {
  const root = await call("GET", "/redfish/v1/", undefined, { authorization: "" });
  const system = await call("GET", SYSTEM, undefined, { authorization: "" });

  expect(root).toMatchObject({ status: 200, body: { Systems: { "@odata.id": "/redfish/v1/Systems" } } });
  expect(system).toMatchObject({ status: 401, headers: { "www-authenticate": 'Basic realm="BMC"' } });
  expect(bmc.refusedCredentials).toBe(1);
});

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

test("an account has types and a role, and a session can be read", async () => {
  const account = await call("GET", "/redfish/v1/AccountService/Accounts/1");
  const role = await call("GET", account.body.Links.Role["@odata.id"]);
  const login = await call("POST", SESSIONS, { UserName: "admin", Password: "calvin" });
  const session = await call("GET", String(login.headers["location"]));

  expect(account.body.AccountTypes).toEqual(["Redfish"]);
  expect(role.body).toMatchObject({ RoleId: "Administrator", IsPredefined: true });
  expect(session.body).toMatchObject({ UserName: "admin", "@odata.type": "#Session.v1_3_0.Session" });
});
