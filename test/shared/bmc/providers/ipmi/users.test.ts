import { describe, expect, it } from "vitest";
import { BmcClient } from "../../../../../shared/bmc/client.ts";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import type { NewUser, UserDriver } from "../../../../../shared/bmc/operations/user-port.ts";
import { Connection } from "../../../../../shared/contract/connection.ts";
import { Secret } from "../../../../../shared/secret.ts";
import type { IpmiBmc, IpmiBmcOptions } from "../../../../../simulators/ipmi/bmc.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { AS_ADMINISTRATOR, limit, openSession, startBmc } from "./bench.ts";

const NEW: NewUser = { name: "worker", password: new Secret("sixteen-bytes-ok"), role: "operator" };

function users(session: Session): UserDriver {
  if (!session.users) throw new Error("the session has no users");
  return session.users;
}

async function start(options: Omit<IpmiBmcOptions, "machine"> = {}) {
  const bmc = await startBmc(options);
  const session = await openSession(bmc, { overrides: AS_ADMINISTRATOR });
  const close = async () => {
    await session.close();
    await bmc.close();
  };
  return { bmc, session, users: users(session), [Symbol.asyncDispose]: close };
}

/** The error of a login with this password; undefined when it worked. */
async function login(bmc: { port: number }, username: string, password: string): Promise<unknown> {
  try {
    await using _session = await openSession(bmc, { overrides: { username, password } });
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

describe("listing users", () => {
  it("leaves empty slots out, and costs one round trip a slot", async () => {
    await using lab = await start({
      users: [
        { name: "admin", password: "calvin" },
        { name: "low", password: "x", privilege: "user" },
        { name: "mid", password: "x", privilege: "operator" },
      ],
    });
    const { session, users } = lab;
    const before = session.roundTrips();

    expect(await users.list(limit())).toEqual([
      { id: "2", name: "admin", role: "administrator", enabled: true },
      { id: "3", name: "low", role: "readonly", enabled: true },
      { id: "4", name: "mid", role: "operator", enabled: true },
    ]);
    expect(session.roundTrips() - before).toBe(10);
  });

  it("takes a refused name for an empty slot", async () => {
    await using lab = await start({ userQuirks: { refusesEmptySlots: true } });
    const { users } = lab;

    expect(await users.list(limit())).toHaveLength(1);
  });
});

describe("a slot that cannot be read", () => {
  it.each([1, 3])("does not hide the other users (user ID %i)", async (slot) => {
    await using lab = await start();
    const { bmc, users } = lab;
    bmc.faults.refuses = (name, data) => (name === "Get User Access" && data[1] === slot ? 0xff : undefined);

    expect(await users.list(limit())).toMatchObject([
      { id: "2", name: "admin" },
      { id: String(slot), unread: expect.stringContaining("Get User Access") },
    ]);
    await expect(users.create(NEW, limit())).rejects.toThrow(`user ID ${slot} cannot be read`);
  });
});

describe("creating a user", () => {
  it.each(["administrator", "operator", "readonly"] as const)("gives it the role %s", async (role) => {
    await using lab = await start();
    const { bmc, users } = lab;

    await users.create({ ...NEW, role }, limit());

    expect(await users.list(limit())).toContainEqual({ id: "3", name: "worker", role, enabled: true });
    const privilege = role === "readonly" ? "user" : role;
    const overrides = { username: "worker", password: "sixteen-bytes-ok", ipmi: { privilege } };
    await expect(openSession(bmc, { overrides })).resolves.toBeDefined();
  });

  it("takes passwords of up to 20 bytes", async () => {
    await using lab = await start();
    const { bmc, users } = lab;
    const password = "twenty-bytes-long-ok";

    await users.create({ ...NEW, password: new Secret(password) }, limit());

    expect(await login(bmc, "worker", password)).toBeUndefined();
  });

  it.each([
    ["a password of 21 bytes", { password: new Secret("twenty-one-bytes-long") }, "password has 21 bytes"],
    ["an empty password", { password: new Secret("") }, "empty"],
    ["a name of 17 bytes", { name: "seventeen-bytes-!" }, "user name has 17 bytes"],
    ["an empty name", { name: "" }, "empty"],
  ])("refuses %s before anything is sent", async (_, wrong, message) => {
    await using lab = await start();
    const { bmc, users } = lab;
    const before = bmc.received;

    await expect(users.create({ ...NEW, ...wrong }, limit())).rejects.toMatchObject({
      class: "usage",
      message: expect.stringContaining(message),
    });
    expect(bmc.received).toBe(before);
  });

  it("says that the name is taken", async () => {
    await using lab = await start();
    const { users } = lab;

    await expect(users.create({ ...NEW, name: "admin" }, limit())).rejects.toMatchObject({
      class: "bmc",
      message: "the user name admin is already used by user ID 2",
    });
  });

  it("says that there is no free slot, and leaves user ID 1 alone", async () => {
    await using lab = await start({ userSlots: 2 });
    const { bmc, users } = lab;

    await expect(users.create(NEW, limit())).rejects.toMatchObject({
      class: "bmc",
      message: expect.stringContaining("all 2 slots"),
    });
    expect(bmc.log).not.toContain("Set User Name");
  });

  it("leaves no half of a user when the BMC refuses the password", async () => {
    await using lab = await start();
    const { bmc, users } = lab;
    bmc.faults.refuses = (name, data) => (name === "Set User Password" && data[1] === 2 ? 0xff : undefined);

    await expect(users.create(NEW, limit())).rejects.toMatchObject({ class: "bmc" });

    expect(bmc.users.rows.map(({ name }) => name).filter(Boolean)).toEqual(["admin"]);
  });
});

describe("changing a user", () => {
  it("changes the password and leaves the role", async () => {
    await using lab = await start();
    const { bmc, users } = lab;
    await users.create(NEW, limit());
    const [, worker] = await users.list(limit());
    if (!worker) throw new Error("the user is not listed");

    await users.change(worker, { password: new Secret("another") }, limit());

    expect(await login(bmc, "worker", "another")).toBeUndefined();
    expect(await login(bmc, "worker", "sixteen-bytes-ok")).toMatchObject({ class: "auth" });
    expect(await users.list(limit())).toContainEqual(worker);
  });

  it("changes the role and leaves the password, and enables who was disabled", async () => {
    await using lab = await start();
    const { bmc, users } = lab;
    await users.create(NEW, limit());
    const row = bmc.users.rows[2];
    if (row) row.enabled = false;
    const [, worker] = await users.list(limit());
    if (!worker) throw new Error("the user is not listed");
    expect(worker.enabled).toBe(false);

    await users.change(worker, { role: "readonly" }, limit());

    expect(await users.list(limit())).toContainEqual({ ...worker, role: "readonly", enabled: true });
    const overrides = { username: "worker", password: "sixteen-bytes-ok", ipmi: { privilege: "user" } };
    await expect(openSession(bmc, { overrides })).resolves.toBeDefined();
  });
});

describe("trying a password", () => {
  async function withWorker(options: Omit<IpmiBmcOptions, "machine"> = {}, password = NEW.password) {
    const lab = await start(options);
    await lab.users.create({ ...NEW, password }, limit());
    const [, worker] = await lab.users.list(limit());
    if (!worker) throw new Error("the user is not listed");
    const trial = (tried: string) => lab.users.tryPassword(worker, new Secret(tried), limit());
    return { ...lab, trial };
  }

  it.each(["short", "sixteen-bytes-ok", "twenty-bytes-long-ok"])(
    "distinguishes %s from another one",
    async (right) => {
      await using lab = await withWorker({}, new Secret(right));
      const { bmc, trial } = lab;

      expect([await trial(right), await trial(`${right.slice(1)}x`)]).toEqual(["accepted", "refused"]);
      // A test is no login, and no change.
      expect(bmc.users.find("worker")?.key.toString().replaceAll("\0", "")).toBe(right);
    },
  );

  it("asks in 20 bytes where the BMC says that the size is another one", async () => {
    await using lab = await withWorker();
    const { bmc, trial } = lab;
    const isShort = (data: Buffer) => data[1] === 3 && data.length === 18;
    bmc.faults.refuses = (name, data) => (name === "Set User Password" && isShort(data) ? 0x81 : undefined);

    expect([await trial("sixteen-bytes-ok"), await trial("sixteen-bytes-no")]).toEqual([
      "accepted",
      "refused",
    ]);
  });

  it("takes a password that the BMC has cut for another one", async () => {
    await using lab = await withWorker();
    const { bmc, trial } = lab;
    bmc.faults.refuses = (name, data) =>
      name === "Set User Password" && data.length > 18 ? 0x81 : undefined;

    expect(await trial("sixteen-bytes-ok-and")).toBe("refused");
  });

  it.each([0xc1, 0xcc, 0xd4, 0xff])("is no evidence where the BMC answers %i", async (code) => {
    await using lab = await withWorker();
    const { bmc, trial } = lab;
    bmc.faults.refuses = (name) => (name === "Set User Password" ? code : undefined);

    expect(await trial("sixteen-bytes-ok")).toBe("unknown");
  });

  it("is to be repeated where the BMC is busy", async () => {
    await using lab = await withWorker();
    const { bmc, trial } = lab;
    bmc.faults.refuses = (name) => (name === "Set User Password" ? 0xc0 : undefined);

    await expect(trial("sixteen-bytes-ok")).rejects.toMatchObject({ class: "busy" });
  });
});

describe("a BMC that keeps 16 bytes", () => {
  it("is named as such when it refuses more, and keeps no half of a user", async () => {
    await using lab = await start({ passwordBytes: 16 });
    const { bmc, users } = lab;
    const password = new Secret("seventeen-bytes-x");

    await expect(users.create({ ...NEW, password }, limit())).rejects.toMatchObject({
      class: "unsupported",
      message: expect.stringContaining("takes passwords of at most 16 bytes"),
    });
    expect(bmc.users.rows[2]?.name).toBe("");
  });
});

describe("removing a user", () => {
  it("frees its slot", async () => {
    await using lab = await start();
    const { bmc, users } = lab;
    await users.create(NEW, limit());
    const [, worker] = await users.list(limit());
    if (!worker) throw new Error("the user is not listed");

    await users.remove(worker, limit());

    expect(await users.list(limit())).toHaveLength(1);
    expect(bmc.users.rows[2]).toMatchObject({ name: "", enabled: false, messaging: false, level: 15 });
    await expect(users.create(NEW, limit())).resolves.toBeUndefined();
  });

  it("leaves a name without access at a BMC that keeps names", async () => {
    await using lab = await start({ userQuirks: { keepsNames: true } });
    const { bmc, users } = lab;
    await users.create(NEW, limit());
    const [, worker] = await users.list(limit());
    if (!worker) throw new Error("the user is not listed");

    await users.remove(worker, limit());

    expect(await users.list(limit())).toContainEqual({
      id: "3",
      name: "worker",
      role: "none",
      enabled: false,
    });
    expect(await login(bmc, "worker", "sixteen-bytes-ok")).toMatchObject({ class: "auth" });
  });

  it("is refused for user ID 1, and when the BMC refuses every part of it", async () => {
    await using lab = await start();
    const { bmc, users } = lab;
    const user = { id: "2", name: "admin", role: "administrator", enabled: true } as const;

    await expect(users.remove({ ...user, id: "1" }, limit())).rejects.toMatchObject({ class: "unsupported" });
    bmc.faults.refuses = (name) => (name.startsWith("Set User") ? 0xcc : undefined);
    await expect(users.remove(user, limit())).rejects.toMatchObject({ class: "unsupported" });
  });
});

describe("a session with less than administrator", () => {
  it("may list users at operator level; an attempt to change them names the option", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    const operator = users(session);

    expect(await operator.list(limit())).toHaveLength(1);
    await expect(operator.create(NEW, limit())).rejects.toMatchObject({
      class: "auth",
      message: expect.stringMatching(
        /needs privilege level administrator.*option privilege.*IPMI_PRIVILEGE=administrator/,
      ),
    });
    expect(bmc.log.filter((name) => name.startsWith("Set User"))).toEqual([]);
  });
});

describe.concurrent("a user table with its own ways", () => {
  const BOB: NewUser = { ...NEW, name: "bob" };
  const rowOf = (bmc: IpmiBmc, name: string) => bmc.users.rows.find((row) => row.name === name);
  const isEnabling = (data: Buffer) => ((data[1] ?? 0) & 0x03) < 2;

  it.each<[string, (bmc: IpmiBmc) => void]>([
    [
      "IW093: enabling needs a password field (0xC7)",
      (bmc) => {
        bmc.faults.refuses = (name, data) =>
          name === "Set User Password" && isEnabling(data) && data.length < 18 ? 0xc7 : undefined;
      },
    ],
    [
      "IW094: enabling is always refused, and Set User Access enables",
      (bmc) => {
        bmc.faults.refuses = (name, data) => {
          const row = bmc.users.rows[((data[1] ?? 0) & 0x3f) - 1];
          if (name === "Set User Access" && row) row.enabled = ((data[2] ?? 0) & 15) !== 15;
          return name === "Set User Password" && isEnabling(data) ? 0xcc : undefined;
        };
      },
    ],
    [
      "IW102: the first slots refuse a name",
      (bmc) => {
        bmc.faults.refuses = (name, data) =>
          name === "Set User Name" && (data[0] ?? 0) < 5 ? 0xcc : undefined;
      },
    ],
    [
      "IW102: the first free slot refuses the access",
      (bmc) => {
        bmc.faults.refuses = (name, data) => (name === "Set User Access" && data[1] === 3 ? 0xcc : undefined);
      },
    ],
    [
      "IW111: this channel is refused, and its number is known",
      (bmc) => {
        bmc.faults.refuses = (name, data) =>
          /User Access|Channel Info/.test(name) && ((data[0] ?? 0) & 0x0f) === 0x0e ? 0xcc : undefined;
      },
    ],
  ])("gets the user all the same, and nothing else: %s", async (_, damage) => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { overrides: AS_ADMINISTRATOR, clock: scaledClock(20) });
    damage(bmc);

    await session.users?.create(BOB, limit());

    expect(rowOf(bmc, "bob")).toMatchObject({ enabled: true, level: 3 });
    expect(bmc.users.rows.filter(({ name }) => name !== "").map(({ name }) => name)).toEqual([
      "admin",
      "bob",
    ]);
  });

  it.each<[string, (client: BmcClient) => Promise<unknown>]>([
    ["create", (client) => client.putUser(BOB, limit())],
    ["role", (client) => client.putUser({ name: "mid", role: "readonly" }, limit())],
    ["deletion", (client) => client.deleteUser("mid", limit())],
  ])("IW106: is not called changed where Set User Access has no effect: %s", async (_, change) => {
    await using bmc = await startBmc({
      users: [
        { name: "admin", password: "calvin" },
        { name: "mid", password: "x", privilege: "operator" },
      ],
    });
    // Nor has a change of the name, or a user being switched off.
    const isOff = (data: Buffer) => (data[1] ?? 0) === 0;
    const isCleared = (data: Buffer) => data.subarray(1).every((byte) => byte === 0);
    bmc.faults.answers = ({ netFn, command, data }) => {
      const isLost =
        command === 0x43 || (command === 0x45 && isCleared(data)) || (command === 0x47 && isOff(data));
      return netFn === 6 && isLost ? {} : undefined;
    };
    const given = { host: "127.0.0.1", username: "admin", password: "calvin", providers: ["ipmi"] };
    const ipmi = { port: bmc.port, privilege: "administrator" };
    const client = new BmcClient(Connection.parse({ ...given, ipmi }), { clock: scaledClock(20) });

    const error = await change(client).catch((thrown: unknown) => thrown);
    await client.close();

    expect(error).toMatchObject({
      class: "verify",
      message: expect.stringMatching(/the BMC (has|accepted)/),
    });
    expect(rowOf(bmc, "mid")).toMatchObject({ level: 3, enabled: true });
  });

  describe("whose slot another user has got since the list was read", () => {
    const start = async (exchange: (rows: IpmiBmc["users"]["rows"]) => void) => {
      const bmc = await startBmc({
        users: [
          { name: "admin", password: "calvin" },
          { name: "alice", password: "a", privilege: "operator" },
          { name: "bob", password: "b", privilege: "operator" },
        ],
      });
      const session = await openSession(bmc, { overrides: AS_ADMINISTRATOR });
      const alice = (await users(session).list(limit())).find(({ name }) => name === "alice");
      if (!alice) throw new Error("the simulator has no user alice");
      exchange(bmc.users.rows);
      return { bmc, users: users(session), alice, [Symbol.asyncDispose]: () => session.close() };
    };
    const swap = (rows: IpmiBmc["users"]["rows"]) => {
      const [first, second] = [rows[2], rows[3]];
      if (!first || !second) throw new Error("the simulator has too few slots");
      const kept = { ...first };
      Object.assign(first, second);
      Object.assign(second, kept);
    };

    it("changes and deletes the named one at its new slot", async () => {
      await using lab = await start(swap);

      await lab.users.change(lab.alice, { role: "readonly" }, limit());
      expect([rowOf(lab.bmc, "alice"), rowOf(lab.bmc, "bob")]).toMatchObject([{ level: 2 }, { level: 3 }]);
      await lab.users.remove(lab.alice, limit());

      expect(lab.bmc.users.rows.map(({ name }) => name).filter((name) => name !== "")).toEqual([
        "admin",
        "bob",
      ]);
      await lab.bmc.close();
    });

    it("changes nothing if the named one has gone, class verify", async () => {
      await using lab = await start((rows) => Object.assign(rows[2] ?? {}, { name: "carol" }));
      const before = lab.bmc.log.length;

      const moved = { class: "verify", uncertain: false };
      await expect(lab.users.change(lab.alice, { role: "readonly" }, limit())).rejects.toMatchObject(moved);
      await expect(lab.users.remove(lab.alice, limit())).rejects.toMatchObject(moved);

      expect(
        lab.bmc.log.slice(before).filter((name) => /^Set User (Name|Access|Password)/.test(name)),
      ).toEqual([]);
      await lab.bmc.close();
    });
  });

  it.each<[string, Buffer]>([
    ["IW095: (Empty User)", Buffer.from("(Empty User)".padEnd(16, "\0"))],
    ["IW096: sixteen 0xFF", Buffer.alloc(16, 0xff)],
  ])("has free slots with the name %s", async (_, shown) => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { overrides: AS_ADMINISTRATOR });
    bmc.faults.answers = ({ netFn, command, data }) =>
      netFn === 6 && command === 0x46 && bmc.users.rows[((data[0] ?? 0) & 0x3f) - 1]?.name === ""
        ? { data: shown }
        : undefined;

    expect((await session.users?.list(limit()))?.map(({ name }) => name)).toEqual(["admin"]);
    await session.users?.create(BOB, limit());
    expect(rowOf(bmc, "bob")).toMatchObject({ enabled: true });
  });

  it.each([0xc0, 0xc3, 0xd4, 0xff])(
    "IW099: is listed with a word about the slot that it refuses with %i",
    async (code) => {
      await using bmc = await startBmc();
      await using session = await openSession(bmc, { overrides: AS_ADMINISTRATOR, clock: scaledClock(20) });
      bmc.faults.refuses = (name, data) => (name === "Get User Name" && data[0] === 4 ? code : undefined);

      const users = await session.users?.list(limit());

      expect(users?.map(({ name }) => name)).toEqual(["admin", ""]);
      expect(users?.at(-1)).toMatchObject({ id: "4", unread: expect.stringContaining("Get User Name") });
    },
  );

  it("IW113: keeps a user's link authentication when it changes the role", async () => {
    await using bmc = await startBmc({
      users: [
        { name: "admin", password: "calvin" },
        { name: "eve", password: "x" },
      ],
    });
    await using session = await openSession(bmc, { overrides: AS_ADMINISTRATOR });
    const sent: number[] = [];
    bmc.faults.refuses = (name, data) => {
      if (name === "Set User Access") sent.push(data[0] ?? 0);
      return undefined;
    };
    const eve = (await session.users?.list(limit()))?.find(({ name }) => name === "eve");

    if (eve) await session.users?.change(eve, { role: "operator" }, limit());

    // Bits: change, link authentication, IPMI messaging.
    expect(sent.map((bits) => bits & 0xf0)).toEqual([0x80 | 0x20 | 0x10]);
  });

  it.each([0x8f, 0xcc])(
    "IW104: says that a password is against its rules, and undoes the user: %i",
    async (code) => {
      await using bmc = await startBmc();
      await using session = await openSession(bmc, { overrides: AS_ADMINISTRATOR });
      bmc.faults.refuses = (name, data) =>
        name === "Set User Password" && !isEnabling(data) ? code : undefined;

      await expect(session.users?.create(BOB, limit())).rejects.toMatchObject({
        class: "bmc",
        message: expect.stringContaining("refuses this password"),
      });
      expect(rowOf(bmc, "bob")).toBeUndefined();
    },
  );
});
