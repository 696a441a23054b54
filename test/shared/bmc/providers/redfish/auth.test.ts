import { afterEach, describe, expect, test } from "vitest";
import {
  type RedfishBmc,
  type RedfishBmcOptions,
  startRedfishBmc,
} from "../../../../../simulators/redfish/bmc.ts";
import { SESSIONS } from "../../../../../simulators/redfish/sessions.ts";
import { errorOf, neverAborts, openSession, RecordingLogger, until, withSession } from "./open-session.ts";

const signal = neverAborts();
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(options: RedfishBmcOptions = {}): Promise<void> {
  bmc = await startRedfishBmc({ tls: "http", ...options });
}

const logins = () => bmc.log.filter((line) => line === `POST ${SESSIONS}`).length;
const session = { redfish: { auth: "session" } };

describe("basic", () => {
  test("is the default and makes no session", async () => {
    await start();

    await withSession(bmc, {}, ({ power }) => power.read(signal));

    expect(logins()).toBe(0);
    expect(bmc.requests[0]?.headers.authorization).toMatch(/^Basic /);
  });

  test("a wrong password is class auth after exactly one request", async () => {
    await start();

    const error = await errorOf(openSession(bmc, { connection: { password: "canary-wrong" } }));

    expect(error).toMatchObject({ class: "auth", message: expect.stringContaining("Access denied") });
    expect(error.message).not.toContain("canary-wrong");
    expect(bmc.refusedCredentials).toBe(1);
    expect(bmc.log).toHaveLength(1);
  });

  test("403 is class auth and is not tried again", async () => {
    await start();
    bmc.fail({ kind: "refuse", status: 403, messageId: "Base.1.8.InsufficientPrivilege" });

    const error = await errorOf(openSession(bmc));

    expect(error.class).toBe("auth");
    expect(bmc.log).toHaveLength(1);
  });

  test("a service that proves to take no basic authentication is logged in to, once, and that is remembered", async () => {
    await start({ basic: false });

    const hint = await withSession(bmc, {}, async (opened) => {
      await opened.power.read(signal);
      return opened.hint();
    });
    const cold = bmc.refusedCredentials;
    await withSession(bmc, { hint }, ({ power }) => power.read(signal));

    expect(cold).toBe(1);
    expect(bmc.refusedCredentials).toBe(1);
    expect(hint).toMatchObject({ auth: "session" });
    expect(bmc.sessions.count).toBe(0);
  });

  test("a wrong password is not offered to such a service more than once", async () => {
    await start({ basic: false });

    const error = await errorOf(openSession(bmc, { connection: { password: "wrong" } }));

    expect(error.class).toBe("auth");
    expect(logins()).toBe(1);
  });

  test("asked for explicitly, it is never replaced by a login", async () => {
    await start({ basic: false });

    const error = await errorOf(openSession(bmc, { redfish: { auth: "basic" } }));

    expect(error.class).toBe("auth");
    expect(logins()).toBe(0);
  });

  test("a user name that basic cannot carry is class usage and sends nothing", async () => {
    await start();

    const error = await errorOf(openSession(bmc, { connection: { username: "a:b" } }));

    expect(error.class).toBe("usage");
    expect(bmc.log).toEqual([]);
  });
});

describe("session", () => {
  test("logs in once, sends the token, and logs out at close", async () => {
    await start();

    const during = await withSession(bmc, session, async ({ power }) => {
      await power.read(signal);
      await power.read(signal);
      return bmc.sessions.count;
    });

    expect(during).toBe(1);
    expect(logins()).toBe(1);
    expect(bmc.requests.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
    expect(bmc.log.at(-1)).toBe(`DELETE ${SESSIONS}/1`);
    expect(bmc.sessions.count).toBe(0);
  });

  test("needs a user name and a password", async () => {
    await start();

    const error = await errorOf(openSession(bmc, { ...session, connection: { username: undefined } }));

    expect(error.class).toBe("usage");
    expect(bmc.log).toEqual([]);
  });

  test("a wrong password is class auth after one login", async () => {
    await start();

    const error = await errorOf(
      openSession(bmc, { redfish: { auth: "session" }, connection: { password: "no" } }),
    );

    expect(error.class).toBe("auth");
    expect(bmc.log).toEqual([`POST ${SESSIONS}`]);
  });

  test("that expired after it had worked is renewed once, after a look at what became of the write", async () => {
    await start();

    await withSession(bmc, session, async ({ power }) => {
      await power.read(signal);
      bmc.sessions.expireAll();
      expect(await errorOf(power.send("off", signal))).toMatchObject({ class: "busy", uncertain: false });
      expect(await power.read(signal)).toBe("on");
      await power.send("off", signal);
    });

    expect(bmc.machine.count("off")).toBe(1);
    expect(logins()).toBe(2);
    expect(bmc.sessions.count).toBe(0);
  });

  test("whose renewal is refused too is class auth, not a loop", async () => {
    await start();

    const error = await withSession(bmc, session, async ({ power }) => {
      await power.read(signal);
      bmc.fail({ kind: "refuse", status: 401, method: "POST", path: /Reset/, times: 5 });
      await errorOf(power.send("off", signal));
      return await errorOf(power.send("off", signal));
    });

    expect(error.class).toBe("auth");
    expect(logins()).toBe(2);
    expect(bmc.sessions.count).toBe(1);
  });

  test("that a BMC ends with 403 is renewed once, and the old one is logged out", async () => {
    await start();

    await withSession(bmc, session, async ({ power }) => {
      await power.read(signal);
      bmc.fail({ kind: "refuse", status: 403, method: "POST", path: /Reset/ });
      expect(await errorOf(power.send("off", signal))).toMatchObject({ class: "busy", uncertain: false });
      await power.send("off", signal);
      expect(bmc.sessions.count).toBe(1);
    });

    expect(bmc.machine.count("off")).toBe(1);
    expect(logins()).toBe(2);
    expect(bmc.sessions.count).toBe(0);
  });

  test("is renewed for one 403 only: what a new session may not do either is not a matter of sessions", async () => {
    await start();

    const errors = await withSession(bmc, session, async ({ power }) => {
      await power.read(signal);
      bmc.fail({ kind: "refuse", status: 403, method: "POST", path: /Reset/, times: 3 });
      const send = () => errorOf(power.send("off", signal));
      return [await send(), await send(), await send()];
    });

    expect(errors.map((error) => error.class)).toEqual(["busy", "auth", "auth"]);
    expect(logins()).toBe(2);
    expect(bmc.sessions.count).toBe(0);
  });

  test("with a hint is made by open, which thereby proves the password", async () => {
    await start();
    const hint = await withSession(bmc, {}, async (opened) => opened.hint());
    bmc.forget();

    const error = await errorOf(openSession(bmc, { ...session, hint, connection: { password: "wrong" } }));

    expect(error.class).toBe("auth");
    expect(bmc.log).toEqual([`POST ${SESSIONS}`]);
  });

  test("slots that are full are replaced by basic authentication where the choice is ours", async () => {
    await start({ sessionLimit: 0 });
    const hint = { system: "/redfish/v1/Systems/1", auth: "session" };

    const [state, learned] = await withSession(bmc, { hint }, async (opened) => [
      await opened.power.read(signal),
      opened.hint(),
    ]);

    expect(state).toBe("on");
    expect(learned).toMatchObject({ auth: "basic" });
    expect(logins()).toBe(1);
  });

  test("slots that are full where basic is not taken are busy, not a refused password", async () => {
    await start({ sessionLimit: 0, basic: false });
    const hint = { system: "/redfish/v1/Systems/1", auth: "session" };

    const error = await withSession(bmc, { hint }, ({ power }) => errorOf(power.read(signal)));

    expect(error).toMatchObject({ class: "busy", message: expect.stringContaining("RAC0218") });
  });

  test("full slots are busy, and nothing is left behind", async () => {
    await start({ sessionLimit: 0 });

    const error = await errorOf(openSession(bmc, session));

    expect(error).toMatchObject({ class: "busy", message: expect.stringContaining("RAC0218") });
  });

  test("is ended when open fails after the login", async () => {
    await start();
    bmc.fail({ kind: "refuse", method: "GET", status: 500, messageId: "Base.1.8.InternalError", times: 9 });

    const error = await errorOf(openSession(bmc, session));

    expect(error.class).toBe("bmc");
    expect(bmc.sessions.count).toBe(0);
  });

  test("is ended when open is aborted while the answer to the login is under way", async () => {
    await start({ latencyMs: 150 });
    const controller = new AbortController();
    const opening = openSession(bmc, { ...session, signal: controller.signal });
    const rejected = expect(opening).rejects.toThrow("stop now");
    await until(() => logins() === 1, "login");

    controller.abort(new Error("stop now"));
    await rejected;

    expect(bmc.sessions.count).toBe(0);
    expect(bmc.log).toEqual([`POST ${SESSIONS}`, `DELETE ${SESSIONS}/1`]);
  });

  test("is ended at close although the request before it was aborted", async () => {
    await start();
    const opened = await openSession(bmc, session);
    await opened.power.read(signal);
    bmc.fail({ kind: "silent", method: "GET" });
    const controller = new AbortController();
    const reading = opened.power.read(controller.signal);
    const rejected = expect(reading).rejects.toThrow("stop now");
    await until(() => bmc.log.length === 4, "the reading");

    controller.abort(new Error("stop now"));
    await rejected;
    await opened.close();

    expect(bmc.sessions.count).toBe(0);
  });

  test("a lost answer to the login is logged, as the session cannot be ended", async () => {
    await start();
    bmc.fail({ kind: "close-after", path: /Sessions$/ });
    const log = new RecordingLogger();

    const error = await errorOf(openSession(bmc, { ...session, log }));

    expect(error).toMatchObject({ class: "unreachable", uncertain: true });
    expect(log.messages("warn")).toEqual([expect.stringContaining("login response lost")]);
  });
});
