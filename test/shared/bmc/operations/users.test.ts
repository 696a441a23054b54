import { describe, expect, it } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { Secret } from "../../../../shared/secret.ts";
import { type IpmiBmcOptions, startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";

type Provider = "redfish" | "ipmi";
const PROVIDERS: readonly Provider[] = ["redfish", "ipmi"];
const OLD = "calvin";
const NEW = new Secret("correct-horse");
const eve = { name: "eve", password: NEW, role: "operator" } as const;
const signal = new AbortController().signal;
const ACCOUNTS = /Accounts/;

interface Options {
  readonly redfish?: RedfishBmcOptions;
  readonly ipmi?: Omit<IpmiBmcOptions, "machine">;
  readonly connection?: Readonly<Record<string, unknown>>;
}

/** A BMC through one provider, and what may go wrong with its users, whichever protocol that is. */
async function userLab(providers: readonly Provider[], options: Options = {}) {
  const machine = new SimulatedMachine();
  const redfish = await startRedfishBmc({ machines: [machine], tls: "http", ...options.redfish });
  const ipmi = await startIpmiBmc({ machine, ...options.ipmi });
  const connect = (password = OLD) =>
    new BmcClient(
      Connection.parse({
        host: "127.0.0.1",
        username: "admin",
        password,
        providers,
        connectTimeoutMs: 4_000,
        requestTimeoutMs: 30_000,
        redfish: { port: redfish.port, scheme: "http" },
        ipmi: { port: ipmi.port, privilege: "administrator" },
        ...options.connection,
      }),
      { clock: scaledClock(10) },
    );
  const client = connect();
  const [provider] = providers;
  return {
    client,
    redfish,
    ipmi,
    connect,
    password: (name: string) =>
      provider === "redfish"
        ? redfish.accounts.find(name)?.password
        : ipmi.users.find(name)?.key.toString().replaceAll("\0", ""),
    /** The next changes are accepted and not carried out. */
    forgets: (times: number) => {
      redfish.fail({ kind: "forget", method: "PATCH", path: ACCOUNTS, times });
      let left = times;
      ipmi.faults.refuses = (name, data) =>
        name === "Set User Password" && data[1] === 2 && left-- > 0 ? 0 : undefined;
    },
    /** The answer to the next change is lost; `carriedOut` says whether the change is, too. */
    losesAnswer: (carriedOut: boolean) => {
      redfish.fail({ kind: carriedOut ? "reset-after" : "reset-before", method: "PATCH", path: ACCOUNTS });
      let lost = false;
      const isPassword = (name: string, data: Buffer) => name === "Set User Password" && data[1] === 2;
      ipmi.faults.ignores = (name, payload) => {
        // A restart in the middle: the session is silent from then on, but a new one works.
        if (lost || !isPassword(name, payload)) return false;
        lost = true;
        if (carriedOut) ipmi.users.setPassword(payload);
        ipmi.restart();
        return true;
      };
    },
    writes: () =>
      provider === "redfish"
        ? redfish.log.filter((line) => /^(POST|PATCH|DELETE) .*Accounts/.test(line)).length
        : ipmi.log.filter((name) => /^Set User/.test(name)).length,
    /** Logins that were refused. */
    refusedLogins: () => redfish.refusedCredentials,
    async [Symbol.asyncDispose]() {
      await client.close();
      await redfish.close();
      await ipmi.close();
    },
  };
}

async function errorOf(promise: Promise<unknown>): Promise<BmcError> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof BmcError) return thrown;
  throw new Error(`no BmcError: ${String(thrown)}`);
}

describe.concurrent.each(PROVIDERS)("a user via %s", (provider) => {
  it("is created, and its password is tried out", async () => {
    await using lab = await userLab([provider]);

    const report = await lab.client.putUser(eve, signal);

    expect(report).toMatchObject({
      changed: true,
      after: { name: "eve", role: "operator", enabled: true },
      summary: "user eve created as operator, its password works",
    });
    expect(report.before).toBeUndefined();
  });

  it("is not touched where its role is as asked and no password is given", async () => {
    await using lab = await userLab([provider]);
    await lab.client.putUser(eve, signal);
    const before = lab.writes();

    const report = await lab.client.putUser({ name: "eve", role: "operator" }, signal);

    expect(report).toMatchObject({ changed: false, summary: "user eve already there as operator" });
    expect(lab.writes()).toBe(before);
  });

  it("that is disabled is enabled with its role and its password", async () => {
    await using lab = await userLab([provider]);
    await lab.client.putUser({ ...eve, password: new Secret("old-password") }, signal);
    const [account, row] = [lab.redfish.accounts.find("eve"), lab.ipmi.users.find("eve")];
    if (account) account.enabled = false;
    if (row) row.enabled = false;

    const report = await lab.client.putUser(eve, signal);

    expect(report).toMatchObject({
      before: { enabled: false },
      after: { role: "operator", enabled: true },
      summary: "user eve updated as operator, its password works",
    });
    expect(lab.password("eve")).toBe(NEW.reveal());
  });

  it("whose password the BMC accepts and does not take is not called done", async () => {
    await using lab = await userLab([provider]);
    await lab.client.putUser({ ...eve, password: new Secret("old-password") }, signal);
    lab.forgets(1);

    const error = await errorOf(lab.client.putUser(eve, signal));

    expect(error).toMatchObject({
      class: "verify",
      uncertain: true,
      message: `${provider}: the BMC accepted a new password of user eve and does not have it`,
    });
    expect(lab.refusedLogins()).toBeLessThanOrEqual(2);
  });

  it("whose change was carried out while its answer was lost is done, and is not written again", async () => {
    await using lab = await userLab([provider]);
    await lab.client.putUser({ ...eve, password: new Secret("old-password") }, signal);
    const before = lab.writes();
    lab.losesAnswer(true);

    const report = await lab.client.putUser({ name: "eve", password: NEW }, signal);

    expect(report.summary).toBe("user eve updated, its password works");
    expect(lab.password("eve")).toBe(NEW.reveal());
    // The test of a password has the command's number.
    expect(lab.writes() - before).toBe(provider === "redfish" ? 1 : 2);
  });

  it("whose change was lost with its answer gets it by a second one", async () => {
    await using lab = await userLab([provider]);
    await lab.client.putUser({ ...eve, password: new Secret("old-password") }, signal);
    lab.losesAnswer(false);

    const report = await lab.client.putUser({ name: "eve", password: NEW }, signal);

    expect(report.summary).toBe("user eve updated, its password works");
    expect(lab.password("eve")).toBe(NEW.reveal());
  });
});

describe.concurrent.each(PROVIDERS)("the connection's own password via %s", (provider) => {
  it("is changed, proven by a login, and used for what the client does later", async () => {
    await using lab = await userLab([provider]);

    const report = await lab.client.putUser({ name: "admin", password: NEW }, signal);
    const listed = await lab.client.listUsers(signal);

    expect(report.summary).toBe("user admin updated, its password works");
    expect(lab.password("admin")).toBe(NEW.reveal());
    expect(listed.map(({ name }) => name)).toEqual(["admin"]);
    expect(lab.refusedLogins()).toBe(0);
    await lab.client.close();
    expect(JSON.stringify(lab.client.hint)).not.toContain(NEW.reveal());
    expect(JSON.stringify(lab.client.hint)).not.toContain(OLD);
  });

  it("that the BMC accepts and does not take is a failure, and the old one serves on", async () => {
    await using lab = await userLab([provider]);
    lab.forgets(1);

    const error = await errorOf(lab.client.putUser({ name: "admin", password: NEW }, signal));

    expect(error).toMatchObject({
      class: "verify",
      uncertain: true,
      message: `${provider}: the BMC accepted a new password of user admin and keeps the old one`,
    });
    expect(await lab.client.listUsers(signal)).toHaveLength(1);
    expect(lab.refusedLogins()).toBeLessThanOrEqual(2);
  });

  it("whose change was carried out while its answer was lost is found out by a login", async () => {
    await using lab = await userLab([provider]);
    lab.losesAnswer(true);

    const report = await lab.client.putUser({ name: "admin", password: NEW }, signal);

    expect(report.summary).toBe("user admin updated, its password works");
    expect(lab.password("admin")).toBe(NEW.reveal());
    expect(lab.refusedLogins()).toBe(0);
  });

  it("whose change was lost with its answer is changed by a second one", async () => {
    await using lab = await userLab([provider]);
    lab.losesAnswer(false);

    const report = await lab.client.putUser({ name: "admin", password: NEW }, signal);

    expect(report.summary).toBe("user admin updated, its password works");
    expect(lab.password("admin")).toBe(NEW.reveal());
  });

  it("that an earlier call has set is found by one login with it after the old one was refused", async () => {
    await using lab = await userLab([provider]);
    await lab.client.putUser({ name: "admin", password: NEW }, signal);
    const writes = lab.writes();
    const second = lab.connect();

    const refused = await errorOf(second.putUser({ name: "admin", password: NEW }, signal));
    const report = await second.putUser({ name: "admin", password: NEW, mayBeSet: true }, signal);
    await second.close();

    expect(refused).toMatchObject({ class: "auth", uncertain: false });
    expect(report).toMatchObject({ changed: false, summary: "user admin already there, its password works" });
    expect(lab.writes()).toBe(writes);
  });

  it("is not changed together with its role", async () => {
    await using lab = await userLab([provider]);

    const error = await errorOf(
      lab.client.putUser({ name: "admin", password: NEW, role: "operator" }, signal),
    );

    expect(error).toMatchObject({ class: "usage", message: expect.stringContaining("in two steps") });
    expect(lab.writes()).toBe(0);
  });
});

describe.concurrent("the connection's own password via redfish", () => {
  it.each(["auto", "session"] as const)(
    "with %s logins is changed although the BMC ends its sessions",
    async (auth) => {
      await using lab = await userLab(["redfish"], {
        connection: {},
        redfish: auth === "session" ? { basic: false } : {},
      });
      lab.redfish.accounts.habits.changed = () => lab.redfish.sessions.expireAll();

      const report = await lab.client.putUser({ name: "admin", password: NEW }, signal);
      await lab.client.close();

      expect(report.summary).toBe("user admin updated, its password works");
      expect(lab.redfish.sessions.count).toBe(0);
      // Without basic authentication the first request of each session finds that out.
      expect(lab.refusedLogins()).toBeLessThanOrEqual(auth === "session" ? 3 : 0);
    },
  );

  it("is proven by a login where the BMC follows the change up as a task, which the old one cannot watch", async () => {
    await using lab = await userLab(["redfish"], { redfish: { tasks: { ms: 50 } } });

    const report = await lab.client.putUser({ name: "admin", password: NEW }, signal);

    expect(report.summary).toBe("user admin updated, its password works");
    expect(lab.password("admin")).toBe(NEW.reveal());
  });

  it("that takes effect a little later is tried a second time", async () => {
    await using lab = await userLab(["redfish"]);
    lab.redfish.accounts.habits.refusedLogins = 1;

    const report = await lab.client.putUser({ name: "admin", password: NEW }, signal);

    expect(report.summary).toBe("user admin updated, its password works");
    expect(lab.refusedLogins()).toBe(1);
  });

  it("is proven by redfish alone, although ipmi has users of its own", async () => {
    // Logging in takes a session and its time, so that ipmi would be asked as well.
    await using lab = await userLab(["redfish", "ipmi"], {
      redfish: { basic: false },
      connection: { headStartMs: 0 },
    });
    lab.ipmi.faults.ignores = () => true;
    await lab.client.listUsers(signal);
    lab.ipmi.faults.ignores = () => false;
    lab.redfish.latencyMs = 100;
    const handshakes = lab.ipmi.log.filter((name) => name === "RAKP1").length;
    expect(lab.client.provider).toBe("redfish");

    const report = await lab.client.putUser({ name: "admin", password: NEW }, signal);

    expect(report.summary).toBe("user admin updated, its password works");
    expect(lab.ipmi.log.filter((name) => name === "RAKP1")).toHaveLength(handshakes);
  });
});

describe.concurrent("another user's password via redfish", () => {
  it("costs one login as that user", async () => {
    await using lab = await userLab(["redfish"]);
    await lab.client.putUser(eve, signal);
    lab.redfish.forget();

    await lab.client.putUser({ name: "eve", password: new Secret("battery-staple") }, signal);

    const asEve = lab.redfish.requests.filter(({ headers }) =>
      Buffer.from(headers.authorization?.split(" ")[1] ?? "", "base64")
        .toString()
        .startsWith("eve:"),
    );
    expect(asEve.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /redfish/v1/Systems"]);
  });

  it("is tried by logging in and out where the BMC takes sessions only", async () => {
    await using lab = await userLab(["redfish"], { redfish: { basic: false } });

    const report = await lab.client.putUser(eve, signal);
    await lab.client.close();

    expect(report.summary).toBe("user eve created as operator, its password works");
    expect(lab.redfish.sessions.count).toBe(0);
  });

  it("counts as right where all that it opens is its own change", async () => {
    await using lab = await userLab(["redfish"]);
    lab.redfish.fail({
      kind: "refuse",
      status: 403,
      messageId: "Base.1.8.PasswordChangeRequired",
      method: "GET",
      path: /Systems$/,
      skip: 1,
    });

    const report = await lab.client.putUser(eve, signal);

    expect(report.summary).toBe("user eve created as operator, its password works");
  });

  it("of a disabled user is set and not tried, which the summary says", async () => {
    await using lab = await userLab(["redfish"]);
    await lab.client.putUser(eve, signal);
    const account = lab.redfish.accounts.find("eve");
    if (account) account.enabled = false;

    const report = await lab.client.putUser({ name: "eve", password: new Secret("battery-staple") }, signal);

    expect(report).toMatchObject({
      after: { enabled: false },
      summary: "user eve updated, its password could not be tried",
    });
    expect(lab.refusedLogins()).toBe(0);
  });

  it("that an earlier call has set and the BMC therefore refuses is in force", async () => {
    await using lab = await userLab(["redfish"]);
    await lab.client.putUser(eve, signal);
    lab.redfish.accounts.habits.refusesReuse = true;

    const refused = await errorOf(lab.client.putUser(eve, signal));
    const report = await lab.client.putUser({ ...eve, mayBeSet: true }, signal);

    expect(refused).toMatchObject({ class: "bmc", message: expect.stringContaining("was used before") });
    expect(report).toMatchObject({
      changed: false,
      summary: "user eve already there as operator, its password works",
    });
  });

  it("that is set when its new role is refused leaves the password in doubt", async () => {
    await using lab = await userLab(["redfish"]);
    await lab.client.putUser(eve, signal);
    const refuse = { kind: "refuse", status: 400, messageId: "Base.1.8.GeneralError" } as const;
    lab.redfish.fail({ ...refuse, method: "PATCH", path: ACCOUNTS, skip: 1 });
    lab.redfish.fail({ ...refuse, method: "PATCH", path: ACCOUNTS });

    const error = await errorOf(
      lab.client.putUser({ name: "eve", password: new Secret("battery-staple"), role: "readonly" }, signal),
    );

    expect(error).toMatchObject({ class: "bmc", uncertain: true });
    expect(lab.password("eve")).toBe("battery-staple");
  });
});

describe.concurrent("another user's password via ipmi", () => {
  it("costs one test of the password", async () => {
    await using lab = await userLab(["ipmi"]);
    await lab.client.putUser(eve, signal);
    const tests = () => lab.ipmi.log.filter((name) => name === "Set User Password").length;
    const before = tests();

    await lab.client.putUser({ name: "eve", password: new Secret("battery-staple") }, signal);

    expect(tests() - before).toBe(2);
  });

  it.each([0xc1, 0xcc, 0xff])("is taken as set where the BMC answers 0x%s to the test", async (code) => {
    await using lab = await userLab(["ipmi"]);
    lab.ipmi.faults.refuses = (name, data) =>
      name === "Set User Password" && data[1] === 3 ? code : undefined;

    const report = await lab.client.putUser(eve, signal);

    expect(report.summary).toBe("user eve created as operator, its password could not be tried");
  });

  it("that lost its answer is set again where the BMC has no test", async () => {
    await using lab = await userLab(["ipmi"]);
    await lab.client.putUser({ ...eve, password: new Secret("old-password") }, signal);
    lab.ipmi.faults.refuses = (name, data) =>
      name === "Set User Password" && data[1] === 3 ? 0xc1 : undefined;
    lab.losesAnswer(false);

    const report = await lab.client.putUser({ name: "eve", password: NEW }, signal);

    expect(report.summary).toBe("user eve updated, its password could not be tried");
    expect(lab.password("eve")).toBe(NEW.reveal());
  });

  it("that is set when its new role is refused leaves the password in doubt", async () => {
    await using lab = await userLab(["ipmi"]);
    await lab.client.putUser(eve, signal);
    lab.ipmi.faults.refuses = (name) => (name === "Set User Access" ? 0xff : undefined);

    const error = await errorOf(
      lab.client.putUser({ name: "eve", password: new Secret("battery-staple"), role: "readonly" }, signal),
    );

    expect(error).toMatchObject({ class: "bmc", uncertain: true });
    expect(lab.password("eve")).toBe("battery-staple");
  });
});

describe.concurrent("a user whose name is all that is left", () => {
  it("does not exist, is deleted already, and is made a user again in its slot", async () => {
    await using lab = await userLab(["ipmi"], { ipmi: { userQuirks: { keepsNames: true } } });
    await lab.client.putUser(eve, signal);
    await lab.client.deleteUser("eve", signal);

    const missing = await errorOf(
      lab.client.putUser({ name: "eve", role: "readonly", mustExist: true }, signal),
    );
    const again = await lab.client.deleteUser("eve", signal);
    const created = await lab.client.putUser(eve, signal);

    expect(missing).toMatchObject({ class: "usage", message: expect.stringContaining("no user eve") });
    expect(again).toEqual({ changed: false, summary: "user eve already absent" });
    expect(created.summary).toBe("user eve created as operator, its password works");
    expect(lab.ipmi.users.rows.filter(({ name }) => name === "eve")).toHaveLength(1);
  });
});

describe.concurrent("what the first provider does not offer", () => {
  it("is refused in the words of the one that does", async () => {
    await using lab = await userLab(["redfish", "ipmi"]);
    lab.redfish.fail({ kind: "refuse", status: 404, path: /Account/, times: 99 });
    lab.ipmi.faults.refuses = (name) => (name === "Set User Name" ? 0xff : undefined);

    const error = await errorOf(lab.client.putUser(eve, signal));

    expect(error).toMatchObject({
      class: "bmc",
      message: expect.stringMatching(/^ipmi: no free slot of the user table takes the user: Set User Name/),
    });
  });
});
