import { afterEach, describe, expect, test } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import type { BmcUser, UserRole } from "../../../../../shared/bmc/operations/user-port.ts";
import { Secret } from "../../../../../shared/secret.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { type RedfishProfile, redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { errorOf, neverAborts, withSession } from "./open-session.ts";

const signal = neverAborts();
const makes = ["generic", "hpe-ilo5", "dell-idrac9", "dell-13g", "lenovo-sr655", "huawei", "paging"];
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(profile: string | RedfishProfile = "generic"): Promise<void> {
  bmc = await startRedfishBmc({ tls: "http", profile });
}

function usersOf({ users }: Session) {
  if (!users) throw new Error("no user driver");
  return users;
}

const use = <T>(run: (users: ReturnType<typeof usersOf>) => Promise<T>, hint?: unknown) =>
  withSession(bmc, { hint }, (session) => run(usersOf(session)));
const newUser = (role: UserRole = "operator") => ({
  name: "eve",
  password: new Secret("correct-horse"),
  role,
});

describe.each(makes)("on %s", (profile) => {
  test("a user is created, listed, changed and removed, and those without a name are no users", async () => {
    await start(profile);

    const [created, changed, removed] = await use(async (users) => {
      await users.create(newUser(), signal);
      const listed = await users.list(signal);
      const eve = listed.find(({ name }) => name === "eve");
      if (!eve) throw new Error("eve is not listed");
      await users.change(eve, { role: "readonly", password: new Secret("battery-staple") }, signal);
      const afterChange = await users.list(signal);
      await users.remove(eve, signal);
      return [listed, afterChange, await users.list(signal)];
    });

    const shape = (list: typeof created) => list?.map(({ name, role, enabled }) => [name, role, enabled]);
    expect(shape(created)).toEqual([
      ["admin", "administrator", true],
      ["eve", "operator", true],
    ]);
    expect(shape(changed)).toEqual([
      ["admin", "administrator", true],
      ["eve", "readonly", true],
    ]);
    expect(shape(removed)).toEqual([["admin", "administrator", true]]);
  });

  test("the new password works at once", async () => {
    await start(profile);

    await use((users) => users.create(newUser("administrator"), signal));

    const connection = { username: "eve", password: "correct-horse" };
    expect(await withSession(bmc, { connection }, ({ power }) => power.read(signal))).toBe("on");
  });
});

test("Dell: an empty account is filled with PATCH, never the anonymous first one, and nothing is posted", async () => {
  await start("dell-idrac9");

  await use((users) => users.create(newUser(), signal));

  const writes = bmc.requests.filter(({ method }) => method !== "GET");
  expect(writes.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "PATCH /redfish/v1/AccountService/Accounts/3",
  ]);
});

test("a make that turns out to have fixed accounts is asked so the next time", async () => {
  await start({ ...redfishProfile("generic"), accounts: { kind: "slots", below: "service" } });

  const hint = await withSession(bmc, {}, async (session) => {
    await usersOf(session).create(newUser(), signal);
    return session.hint();
  });
  bmc.forget();
  await use((users) => users.create({ ...newUser(), name: "mallory" }, signal), hint);

  expect(bmc.accounts.all.map(({ name }) => name)).toEqual(["admin", "eve", "mallory"]);
  expect(bmc.log.filter((line) => line.startsWith("POST"))).toEqual([]);
});

test.each([".", "*"] as const)(
  "$expand=%s, where the root announces it, reads 16 accounts in three requests, then in one",
  async (expand) => {
    await start({ ...redfishProfile("dell-idrac9"), expand });
    const hint = await withSession(bmc, {}, async (session) => {
      bmc.forget();
      await usersOf(session).list(signal);
      return session.hint();
    });
    const first = [...bmc.log];
    bmc.forget();

    await use((users) => users.list(signal), hint);

    const path = "/redfish/v1/AccountService/Accounts";
    expect(first).toEqual([`GET ${path}`, "GET /redfish/v1", `GET ${path}?$expand=${expand}`]);
    expect(bmc.log).toEqual([`GET ${path}?$expand=${expand}`]);
  },
);

test("a hint about $expand that no longer holds costs one request", async () => {
  await start();
  const hint = { system: "/redfish/v1/Systems/1", expand: "*" };

  const listed = await use((users) => users.list(signal), hint);

  expect(listed.map(({ name }) => name)).toEqual(["admin"]);
});

describe("a password that the policy refuses", () => {
  test.each(makes)("on %s is an error in the words of the BMC, without the password", async (profile) => {
    await start(profile);
    const user = { name: "eve", password: new Secret("canary"), role: "operator" } as const;

    const error = await use((users) => errorOf(users.create(user, signal)));

    expect(error.class).toBe("bmc");
    expect(error.message).toContain(
      "of a different format than the property can accept: at least 8 characters",
    );
    expect(`${error.message} ${String(error.cause)}`).not.toContain("canary");
    expect(bmc.accounts.find("eve")).toBeUndefined();
  });
});

describe("trying a password", () => {
  const eve = {
    id: "/redfish/v1/AccountService/Accounts/2",
    name: "eve",
    role: "operator",
    enabled: true,
  } as const;
  const tried = (password: string, user: BmcUser = eve) =>
    use(async (users) => {
      await users.create(newUser(), signal);
      return await users.tryPassword(user, new Secret(password), signal);
    });

  test("distinguishes the right one from another one, each with one login", async () => {
    await start();

    const [right, wrong] = await use(async (users) => {
      await users.create(newUser(), signal);
      return [
        await users.tryPassword(eve, new Secret("correct-horse"), signal),
        await users.tryPassword(eve, new Secret("wrong-horse"), signal),
      ];
    });

    expect([right, wrong]).toEqual(["accepted", "refused"]);
    expect(bmc.refusedCredentials).toBe(1);
    expect(bmc.sessions.count).toBe(0);
  });

  test.each([
    [401, "Base.1.8.AccessDenied", "refused"],
    [403, "Base.1.8.PasswordChangeRequired", "accepted"],
    [403, "Base.1.8.InsufficientPrivilege", "unknown"],
    [503, "Base.1.8.ServiceTemporarilyUnavailable", "unknown"],
  ] as const)("takes %i with %s for %s", async (status, messageId, expected) => {
    await start();
    bmc.fail({ kind: "refuse", status, messageId, method: "GET", path: /Systems$/, skip: 1 });

    expect(await tried("correct-horse")).toBe(expected);
  });

  test.each([
    ["right", "correct-horse", "accepted"],
    ["wrong", "wrong-horse", "refused"],
  ] as const)("with sessions, a %s one leaves none open", async (_, password, expected) => {
    bmc = await startRedfishBmc({ tls: "http", basic: false });

    expect(await tried(password)).toBe(expected);
    expect(bmc.sessions.count).toBe(0);
  });

  test("is no evidence where all session slots are taken", async () => {
    bmc = await startRedfishBmc({ tls: "http", basic: false, sessionLimit: 1 });

    expect(await tried("correct-horse")).toBe("unknown");
  });

  test("logs in with a session as a user whose name basic authentication cannot carry", async () => {
    await start();
    const name = "eve:x";

    const trial = await use(async (users) => {
      await users.create({ ...newUser(), name }, signal);
      return await users.tryPassword({ ...eve, name }, new Secret("correct-horse"), signal);
    });

    expect(trial).toBe("accepted");
    expect(bmc.sessions.count).toBe(0);
  });

  test("asks nothing for a user that is disabled", async () => {
    await start();

    expect(await tried("wrong-horse", { ...eve, enabled: false })).toBe("unknown");
    expect(bmc.refusedCredentials).toBe(0);
  });
});

test("removing a user who is gone is success", async () => {
  await start();
  const gone = {
    id: "/redfish/v1/AccountService/Accounts/77",
    name: "eve",
    role: "operator",
    enabled: true,
  } as const;

  await use((users) => users.remove(gone, signal));

  expect(bmc.log).toContain("GET /redfish/v1/AccountService/Accounts/77");
  expect(bmc.log.filter((line) => !line.startsWith("GET"))).toEqual([]);
});

test("full slots are unsupported and say so", async () => {
  await start("dell-idrac9");

  const error = await use(async (users) => {
    for (let n = 0; n < 14; n++) await users.create({ ...newUser(), name: `user${n}` }, signal);
    return await errorOf(users.create(newUser(), signal));
  });

  expect(error).toMatchObject({
    class: "unsupported",
    message: expect.stringContaining("accounts are taken"),
  });
});
