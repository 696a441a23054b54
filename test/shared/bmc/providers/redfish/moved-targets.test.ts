import { afterEach, describe, expect, test } from "vitest";
import { BmcClient } from "../../../../../shared/bmc/client.ts";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import type { SecureBootKey } from "../../../../../shared/bmc/operations/secure-boot-key.ts";
import type { BmcUser, UserDriver } from "../../../../../shared/bmc/operations/user-port.ts";
import type { BmcError } from "../../../../../shared/contract/bmc-error.ts";
import { Secret } from "../../../../../shared/secret.ts";
import { createCertificate, createKey } from "../../../../../simulators/certificate.ts";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { collection, treeLab, treeOf } from "../../../../support/redfish-tree.ts";
import { connectionTo, errorOf, neverAborts, withSession } from "./open-session.ts";

const signal = neverAborts();
const SYSTEMS = "/redfish/v1/Systems";
const ACCOUNTS = "/redfish/v1/AccountService/Accounts";
const bladeA = { redfish: { system: "blade-a" } };
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function startBlades(): Promise<void> {
  const machines = ["blade-a", "blade-b"].map((name) => new SimulatedMachine({ name, powerOffMs: 0 }));
  bmc = await startRedfishBmc({ tls: "http", machines });
}

const exchangeBlades = (afterRequests = 0) => bmc.exchange(`${SYSTEMS}/1-1`, `${SYSTEMS}/1-2`, afterRequests);
const offs = () => bmc.machines.map((machine) => machine.count("off"));

describe("blades that swap slots", () => {
  const hintOfA = () =>
    withSession(bmc, bladeA, async (session) => {
      await session.power.read(signal);
      return session.hint();
    });

  test("after a hint was learned: the reset goes to the blade that was named", async () => {
    await startBlades();
    const hint = await hintOfA();
    exchangeBlades();

    await withSession(bmc, { ...bladeA, hint }, ({ power }) => power.send("off", signal));

    expect(offs()).toEqual([1, 0]);
  });

  test("after a hint was learned: the boot override goes to the blade that was named", async () => {
    await startBlades();
    const hint = await hintOfA();
    exchangeBlades();

    await withSession(bmc, { ...bladeA, hint }, ({ boot }) =>
      boot.write({ device: "pxe", persistent: false, mode: "keep" }, signal),
    );

    expect(bmc.machines.map(({ override }) => override.device)).toEqual(["pxe", "none"]);
  });

  test("between two readings: nothing is sent, class verify", async () => {
    await startBlades();

    const error = await withSession(bmc, bladeA, async ({ power }) => {
      await power.read(signal);
      exchangeBlades();
      return await errorOf(power.read(signal).then(() => power.send("off", signal)));
    });

    expect(error).toMatchObject({ class: "verify", uncertain: false });
    expect(error.message).toContain("CZ00000002, not CZ00000001");
    expect(offs()).toEqual([0, 0]);
  });

  test("right after the reset: the reading of another blade proves nothing, class verify", async () => {
    await startBlades();

    const error = await withSession(bmc, bladeA, async ({ power }) => {
      await power.read(signal);
      await power.send("off", signal);
      exchangeBlades();
      return await errorOf(power.read(signal));
    });

    expect(error).toMatchObject({ class: "verify", uncertain: true });
  });

  test("in the middle of a list that is read: no part of another blade is a result, class verify", async () => {
    await startBlades();
    const client = new BmcClient(connectionTo(bmc, { connection: { providers: ["redfish"] }, ...bladeA }));
    await client.getPower(signal);
    exchangeBlades(1);

    const error = await errorOf(client.listSecureBootKeys(["db"], signal)).finally(() => client.close());

    expect(error).toMatchObject({ class: "verify", uncertain: false });
    expect(error.message).toContain("CZ00000002, not CZ00000001");
  });

  test("the report says which blade it was, by its serial number", async () => {
    await startBlades();

    const note = await withSession(bmc, bladeA, async (session) => session.note?.());

    expect(note).toBe(`system ${SYSTEMS}/1-1 (serial number CZ00000001)`);
  });
});

describe("drives that are renumbered", () => {
  const DRIVES = `${SYSTEMS}/1/Storage/RAID.1/Drives`;

  const eraseAfter = (requests: number) =>
    withSession(bmc, {}, async ({ erase }: Session) => {
      const found = (await erase?.list(signal))?.drives.find(({ serialNumber }) => serialNumber === "DISK-0");
      if (!erase || !found) throw new Error("the simulator has no drive DISK-0");
      bmc.exchange(`${DRIVES}/0`, `${DRIVES}/1`, requests);
      await erase.send(found, undefined, signal);
    });

  test("before the erasure: the named one is erased at its new place", async () => {
    bmc = await startRedfishBmc({ tls: "http" });

    await eraseAfter(0);

    await expect.poll(() => bmc.storage.erased).toEqual(["0"]);
  });

  test("between the last reading and the request: no success, and what was sent is said", async () => {
    bmc = await startRedfishBmc({ tls: "http" });

    const error = await errorOf(eraseAfter(1));

    expect(error).toMatchObject({ class: "verify", uncertain: true });
    expect(error.message).toContain("may have changed another one");
  });

  test("a drive that was replaced is not erased, class verify", async () => {
    bmc = await startRedfishBmc({ tls: "http" });
    const error = await withSession(bmc, {}, async ({ erase }) => {
      if (!erase) throw new Error("no erase driver");
      const [drive] = (await erase.list(signal)).drives;
      if (!drive) throw new Error("the simulator has no drive");
      return await errorOf(erase.send({ ...drive, serialNumber: "DISK-A" }, undefined, signal));
    });

    expect(error).toMatchObject({ class: "verify", uncertain: false });
    expect(bmc.log.filter((line) => line.startsWith("POST"))).toEqual([]);
  });
});

test("a volume that has got another ID is deleted at its new one", async () => {
  bmc = await startRedfishBmc({ tls: "http" });
  const VOLUMES = `${SYSTEMS}/1/Storage/RAID.1/Volumes`;
  bmc.storage.add({ name: "os", level: "RAID0", drives: ["0"], bytes: 1 });
  bmc.storage.add({ name: "data", level: "RAID0", drives: ["1"], bytes: 1 });

  await withSession(bmc, {}, async ({ raid }) => {
    const volume = (await raid?.read(signal))?.[0]?.volumes.find(({ name }) => name === "os");
    if (!raid || !volume) throw new Error("the simulator has no volume os");
    bmc.exchange(`${VOLUMES}/1`, `${VOLUMES}/2`);
    await raid.send({ kind: "delete", volume }, undefined, signal);
  });

  await expect.poll(() => [...bmc.storage.volumes.values()].map(({ name }) => name)).toEqual(["data"]);
});

test("a Secure Boot key whose ID another has got is deleted at its new one", async () => {
  bmc = await startRedfishBmc({ tls: "http" });
  const keys = `${SYSTEMS}/1/SecureBoot/SecureBootDatabases/dbx/Signatures`;
  const { databases } = bmc.machine.secureBoot;
  bmc.machine.secureBoot.keyChanges = "at-once";
  databases.dbx = ["a", "b"].map((digit, at) => ({
    id: String(at + 1),
    kind: "Signatures",
    fields: { SignatureString: digit.repeat(64).toUpperCase() },
  }));
  const left: SecureBootKey[] = [];

  await withSession(bmc, {}, async ({ securebootkeys: driver }) => {
    const key = (await driver?.list("dbx", signal))?.keys.find(({ fingerprint }) =>
      fingerprint?.startsWith("a"),
    );
    if (!driver || !key) throw new Error("the simulator has no such key");
    bmc.exchange(`${keys}/1`, `${keys}/2`);
    await driver.remove(key, signal);
    left.push(...(await driver.list("dbx", signal)).keys);
  });

  expect(left.map(({ fingerprint }) => fingerprint)).toEqual(["b".repeat(64)]);
});

describe("a firmware target whose ID another program has got", () => {
  const firmware = "/redfish/v1/UpdateService/FirmwareInventory";
  const target = { id: "BMC", name: "BMC firmware" };
  const update = (targets: readonly (typeof target)[], afterRequests: number) =>
    withSession(bmc, {}, async ({ firmware: driver }: Session) => {
      bmc.exchange(`${firmware}/BMC`, `${firmware}/BIOS`, afterRequests);
      await driver?.send({ image: { uri: "http://192.0.2.1/bmc-9.9.9.bin" }, targets }, 1_000, signal);
    });
  const versions = () =>
    Object.fromEntries([...bmc.update.firmware].map(([id, { version }]) => [id, version]));

  test.each([0, 2, 4])("is updated where it is now, %i requests after the search began", async (requests) => {
    bmc = await startRedfishBmc({ tls: "http" });

    await update([target], requests);

    await expect.poll(versions).toMatchObject({ BMC: "9.9.9", BIOS: "2.19.1" });
  });

  test("is not updated if no program has its name, class verify", async () => {
    bmc = await startRedfishBmc({ tls: "http" });

    const error = await errorOf(update([{ id: "BMC", name: "Former BMC firmware" }], 0));

    expect(error).toMatchObject({ class: "verify", uncertain: false });
    expect(bmc.update.accepted).toBe(0);
  });
});

test("an image goes into no other drive that has got the name and the place of the one that was read", async () => {
  bmc = await startRedfishBmc({ tls: "http" });
  const image = { url: "http://192.0.2.9/rescue.iso" };

  await withSession(bmc, {}, async ({ media }) => {
    await media?.read(signal);
    const [cd, floppy] = ["CD1", "Floppy1"].map((id) => `${bmc.media.path}/${id}`);
    bmc.exchange(String(cd), String(floppy));
    await media?.insert(image, signal);
  });

  expect(bmc.media.slots.filter(({ inserted }) => inserted).map(({ id }) => id)).toEqual(["CD1"]);
});

describe("accounts whose slots are used anew", () => {
  const start = async () => {
    bmc = await startRedfishBmc({ tls: "http" });
    for (const name of ["alice", "bob"]) {
      bmc.accounts.add({ name, password: `${name}-password`, role: "ReadOnly", enabled: true });
    }
  };
  const useAlice = (use: (users: UserDriver, alice: BmcUser) => Promise<void>) =>
    withSession(bmc, {}, async ({ users }) => {
      const alice = (await users?.list(signal))?.find(({ name }) => name === "alice");
      if (!users || !alice) throw new Error("the simulator has no user alice");
      bmc.exchange(`${ACCOUNTS}/2`, `${ACCOUNTS}/3`);
      await use(users, alice);
    });

  test("the named user is deleted", async () => {
    await start();

    await useAlice((users, alice) => users.remove(alice, signal));

    expect(bmc.accounts.all.map(({ name }) => name)).toEqual(["admin", "bob"]);
  });

  test("the named user gets the password and the role", async () => {
    await start();
    const password = new Secret("new-password");

    await useAlice((users, alice) => users.change(alice, { password, role: "operator" }, signal));

    expect(bmc.accounts.find("alice")).toMatchObject({ password: "new-password", role: "Operator" });
    expect(bmc.accounts.find("bob")).toMatchObject({ password: "bob-password", role: "ReadOnly" });
  });
});

describe("what changes its place before any reading is never hit by its place", () => {
  const MANAGER = "/redfish/v1/Managers/1";
  const link = (path: string) => ({ "@odata.id": path });

  interface Moving {
    readonly tree: () => ReturnType<typeof treeOf>;
    /** They exchange what they hold, but for these fields. */
    readonly places: readonly [string, string];
    readonly stays?: string;
    /** The wanted ID, and the field that identifies its resource. */
    readonly id: string;
    readonly mark: string;
    readonly use: (client: BmcClient) => Promise<unknown>;
  }

  /** What was read first and what was written, if the exchange comes before the reading of this number. */
  async function writtenAt(at: number, { tree: make, places: [one, other], stays, id, mark, use }: Moving) {
    const tree = make();
    const [before = {}, after = {}] = [tree[one], tree[other]];
    const written: unknown[] = [];
    let meant: unknown;
    let readings = 0;
    let lastReading = 0;
    await using lab = await treeLab(tree, ({ method, path, body }) => {
      if (method === "GET") {
        if (readings++ === at) {
          tree[one] = stays === undefined ? after : { ...after, [stays]: before[stays] };
          tree[other] = stays === undefined ? before : { ...before, [stays]: after[stays] };
        }
        const found = tree[path];
        if (found?.["Id"] === id) meant ??= found[mark];
        return found && [200, found];
      }
      if (written.length === 0) lastReading = readings - 1;
      written.push(tree[path]?.[mark]);
      tree[path] = { ...tree[path], ...Object(body) };
      return [204];
    });
    const ended = await use(lab.client).then(
      () => "done",
      (error: BmcError) => error.class,
    );
    return { meant, written, ended, lastReading };
  }

  const NICS = `${MANAGER}/EthernetInterfaces`;
  const nic = (digit: number) => ({
    Id: `eth${digit}`,
    MACAddress: `02:00:00:00:00:0${digit}`,
    HostName: `bmc-${digit}`,
  });
  const nics = () => ({
    ...treeOf({ Links: { ManagedBy: [link(MANAGER)] } }),
    [MANAGER]: { Id: "1", EthernetInterfaces: link(NICS) },
    [NICS]: collection(`${NICS}/0`, `${NICS}/1`),
    [`${NICS}/0`]: nic(0),
    [`${NICS}/1`]: nic(1),
  });
  const MEDIA = `${MANAGER}/VirtualMedia`;
  const drive = (name: string) => ({
    Id: name,
    Name: name,
    MediaTypes: ["CD"],
    Image: null,
    Inserted: false,
  });

  test.each<[string, Moving]>([
    [
      "a network interface",
      {
        tree: nics,
        places: [`${NICS}/0`, `${NICS}/1`],
        id: "eth0",
        mark: "MACAddress",
        use: (client) => client.setNetwork({ interface: "eth0", hostName: "bmc-7" }, 5_000, signal),
      },
    ],
    [
      "a network interface whose ID stays with the place",
      {
        tree: nics,
        places: [`${NICS}/0`, `${NICS}/1`],
        stays: "Id",
        id: "eth0",
        mark: "MACAddress",
        use: (client) => client.setNetwork({ interface: "eth0", hostName: "bmc-7" }, 5_000, signal),
      },
    ],
    [
      "a virtual drive",
      {
        tree: () => ({
          ...treeOf({ Links: { ManagedBy: [link(MANAGER)] } }),
          [MANAGER]: { Id: "1", VirtualMedia: link(MEDIA) },
          [MEDIA]: collection(`${MEDIA}/0`, `${MEDIA}/1`),
          [`${MEDIA}/0`]: drive("CD1"),
          [`${MEDIA}/1`]: drive("CD2"),
        }),
        places: [`${MEDIA}/0`, `${MEDIA}/1`],
        id: "CD1",
        mark: "Id",
        use: (client) => client.insertMedia("http://192.0.2.9/a.iso", signal, { drive: { name: "CD1" } }),
      },
    ],
  ])("%s", async (_, moving) => {
    const { lastReading, ...undisturbed } = await writtenAt(-1, moving);
    expect(undisturbed).toMatchObject({ written: [undisturbed.meant], ended: "done" });

    for (let at = 0; at <= lastReading; at += 1) {
      const { meant, written, ended } = await writtenAt(at, moving);
      const allowed = written.length === 0 ? { written, ended: "verify" } : { written: [meant], ended };
      expect({ at, written, ended }).toEqual({ at, ...allowed });
    }
  });
});

test("a certificate whose place another has got is replaced at its new one, or nothing is sent", async () => {
  const CERTIFICATES = "/redfish/v1/Managers/1/NetworkProtocol/HTTPS/Certificates";
  const key = createKey();
  const { cert } = createCertificate({ commonName: "bmc-7", altNames: ["127.0.0.1"], key });
  const install = async (afterRequests: number | undefined) => {
    bmc = await startRedfishBmc({ profile: { ...redfishProfile("generic"), certificates: "several" } });
    bmc.certificates.key = key;
    const ended = await withSession(bmc, {}, async ({ https }) => {
      if (!https) throw new Error("no https driver");
      bmc.forget();
      if (afterRequests !== undefined) bmc.exchange(`${CERTIFICATES}/0`, `${CERTIFICATES}/1`, afterRequests);
      const leaf = await https.shown(signal);
      return https.install({ pem: cert, size: 1, leaf }, signal).then(
        () => "done",
        (error: BmcError) => error.class,
      );
    });
    const at = bmc.log.findIndex((line) => line.startsWith("POST"));
    await bmc.close();
    return { ended, at };
  };

  const { ended, at } = await install(undefined);
  expect(ended).toBe("done");

  for (let after = 0; after < at; after += 1) {
    const moved = await install(after);
    expect(moved.ended === "done" || moved.at < 0).toBe(true);
  }
});
