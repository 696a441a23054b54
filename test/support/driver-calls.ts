import type { Session } from "../../shared/bmc/operations/provider.ts";
import type { DriverName, Drivers } from "../../shared/bmc/operations/table.ts";
import { Secret } from "../../shared/secret.ts";

type Calls<Driver> = {
  [Method in keyof Driver as NonNullable<Driver[Method]> extends (...given: never[]) => unknown
    ? Method
    : never]-?: (driver: Driver, signal: AbortSignal) => unknown;
};

const BOOT = { device: "pxe", persistent: false, mode: "uefi" } as const;
const IMAGE = { url: "http://192.0.2.1/x.iso" };
const USER = {
  id: "/redfish/v1/AccountService/Accounts/3",
  name: "eve",
  role: "operator",
  enabled: true,
} as const;
const PASSWORD = new Secret("canary-new");
const FIRMWARE = { image: { uri: "http://192.0.2.1/x.bin" }, targets: [{ id: "BMC", name: "BMC firmware" }] };
const INTERFACE = { id: "1", mode: "static", address: "192.0.2.11", prefix: 24, vlan: "off" } as const;
const NETWORK = { before: INTERFACE, target: { ...INTERFACE, address: "192.0.2.12", vlan: 42 } };
const LEAF = {
  fingerprint: "00",
  subject: "CN=bmc-7",
  issuer: "CN=CA",
  notAfter: "2027-11-23T00:00:00.000Z",
};
const CHAIN = { leaf: LEAF, pem: "-----BEGIN CERTIFICATE-----", size: 1 };
const RAID = {
  kind: "create",
  controller: "RAID.1",
  volume: { name: "os", level: "RAID1", drives: ["0", "1"] },
} as const;
const KEY = { kind: "signature", fingerprint: "00".repeat(32) } as const;
const LISTED_KEY = { ...KEY, database: "dbx", id: "1" } as const;
const DRIVE = { id: "0", path: "/redfish/v1/Systems/1/Storage/RAID.1/Drives/0", offered: true } as const;
const NTP = { enabled: true, servers: ["a"] };

const SINK = { opened: () => undefined, output: () => undefined, gap: () => undefined };

/** A call of every method of every driver. A missing one is a type error here. */
const CALLS: { readonly [Name in DriverName]: Calls<Drivers[Name]> } = {
  power: {
    read: (power, signal) => power.read(signal),
    stateName: async (power) => power.stateName?.(),
    resetMark: async (power) => power.resetMark?.(),
    plan: (power, signal) => power.plan("cycle", signal),
    send: (power, signal) => power.send("off", signal),
  },
  boot: {
    read: (boot, signal) => boot.read(signal),
    plan: (boot, signal) => boot.plan(BOOT, signal),
    write: (boot, signal) => boot.write(BOOT, signal),
    note: async (boot, signal) => boot.note?.({ ...BOOT, device: "cdrom" }, signal),
    waiting: async (boot, signal) => boot.waiting?.(signal),
    see: (boot, signal) => boot.see?.(true, signal),
  },
  manager: {
    plan: (manager, signal) => manager.plan("cold", signal),
    reset: (manager, signal) => manager.reset("cold", signal),
    info: (manager, signal) => manager.info(signal),
    clockMs: (manager, signal) => manager.clockMs(signal),
    lastStart: async (manager, signal) => manager.lastStart?.(signal),
  },
  ntp: {
    read: (ntp, signal) => ntp.read(signal),
    plan: (ntp, signal) => ntp.plan(NTP, signal),
    write: (ntp, signal) => ntp.write(NTP, signal),
    hasDhcp: (ntp, signal) => ntp.hasDhcp?.(signal),
  },
  network: {
    list: (network, signal) => network.list(signal),
    plan: (network, signal) => network.plan(NETWORK, signal),
    write: (network, signal) => network.write(NETWORK, signal),
    finish: (network, signal) => network.finish?.(signal),
  },
  https: {
    offered: (https, signal) => https.offered(signal),
    shown: (https, signal) => https.shown(signal),
    planGenerate: (https, signal) => https.planGenerate({ commonName: "bmc-7" }, signal),
    generate: (https, signal) => https.generate({ commonName: "bmc-7" }, signal),
    plan: (https, signal) => https.plan(CHAIN, signal),
    install: (https, signal) => https.install(CHAIN, signal),
  },
  raid: {
    read: (raid, signal) => raid.read(signal),
    pending: (raid, signal) => raid.pending("RAID.1", signal),
    plan: (raid, signal) => raid.plan(RAID, "on-reset", signal),
    send: (raid, signal) => raid.send(RAID, undefined, signal),
  },
  erase: {
    list: (erase, signal) => erase.list(signal),
    plan: (erase, signal) => erase.plan(DRIVE, "crypto-erase", signal),
    send: (erase, signal) => erase.send(DRIVE, undefined, signal),
  },
  media: {
    read: (media, signal) => media.read(signal),
    plan: (media, signal) => media.plan(IMAGE, signal),
    insert: (media, signal) => media.insert(IMAGE, signal),
    eject: (media, signal) => media.eject(signal),
    check: (media, signal) => media.check?.(IMAGE, signal),
    list: (media, signal) => media.list?.(signal),
    protocols: (media, signal) => media.protocols?.(signal),
  },
  users: {
    checkUser: (users) => users.checkUser?.(USER),
    checkRights: (users) => users.checkRights?.(),
    list: (users, signal) => users.list(signal),
    hasUnlisted: (users, signal) => users.hasUnlisted?.("eve", signal),
    create: (users, signal) => users.create({ name: "eve", password: PASSWORD, role: "operator" }, signal),
    change: (users, signal) => users.change(USER, { password: PASSWORD, role: "readonly" }, signal),
    remove: (users, signal) => users.remove(USER, signal),
    tryPassword: (users, signal) => users.tryPassword(USER, PASSWORD, signal),
  },
  sel: {
    list: (sel, signal) => sel.list(signal, { sensorNames: true }),
    count: (sel, signal) => sel.count(signal),
    plan: (sel, signal) => sel.plan(signal),
    clear: (sel, signal) => sel.clear(signal),
  },
  powerhistory: {
    facts: (history, signal) => history.facts(signal),
    events: (history, signal) =>
      history.events({ resetMs: undefined, windowMs: 0, sensorNames: true }, signal),
  },
  inventory: { read: (inventory, signal) => inventory.read(signal) },
  firmware: {
    list: (firmware, signal) => firmware.list(signal),
    plan: (firmware, signal) => firmware.plan(FIRMWARE, signal),
    send: (firmware, signal) => firmware.send(FIRMWARE, 1_000, signal),
  },
  bootorder: {
    read: (bootorder, signal) => bootorder.read(signal),
    plan: (bootorder, signal) => bootorder.plan(["Boot0002", "Boot0001", "Boot0003"], signal),
    write: (bootorder, signal) => bootorder.write(["Boot0002", "Boot0001", "Boot0003"], signal),
  },
  httpboot: {
    read: (httpboot, signal) => httpboot.read(signal),
    plan: (httpboot, signal) => httpboot.plan("http://192.0.2.1/x.efi", signal),
    write: (httpboot, signal) => httpboot.write("http://192.0.2.1/x.efi", signal),
  },
  bios: {
    read: (bios, signal) => bios.read(signal),
    isApplying: (bios, signal) => bios.isApplying(signal),
    registry: (bios, signal) => bios.registry("BiosAttributeRegistry.v1_0_0", signal),
    plan: (bios, signal) => bios.plan({ ProcTurboMode: "Disabled" }, "on-reset", signal),
    write: (bios, signal) => bios.write({ ProcTurboMode: "Disabled" }, "on-reset", signal),
    planReset: (bios, signal) => bios.planReset(signal),
    reset: (bios, signal) => bios.reset(signal),
  },
  secureboot: {
    read: (secureboot, signal) => secureboot.read(signal),
    plan: (secureboot, signal) => secureboot.plan(true, signal),
    write: (secureboot, signal) => secureboot.write(true, signal),
    planKeys: (secureboot, signal) => secureboot.planKeys("default", "db", signal),
    resetKeys: (secureboot, signal) => secureboot.resetKeys("default", undefined, signal),
  },
  securebootkeys: {
    databases: (securebootkeys, signal) => securebootkeys.databases(signal),
    rules: (securebootkeys, signal) => securebootkeys.rules(signal),
    list: (securebootkeys, signal) => securebootkeys.list("dbx", signal),
    planEnroll: (securebootkeys, signal) => securebootkeys.planEnroll("db", KEY, signal),
    enroll: (securebootkeys, signal) => securebootkeys.enroll("db", KEY, signal),
    planRemove: (securebootkeys, signal) => securebootkeys.planRemove(LISTED_KEY, signal),
    remove: (securebootkeys, signal) => securebootkeys.remove(LISTED_KEY, signal),
  },
  indicator: {
    read: (indicator, signal) => indicator.read(signal),
    plan: (indicator, signal) => indicator.plan(true, signal),
    write: (indicator, signal) => indicator.write(true, signal),
  },
  restore: {
    read: (restore, signal) => restore.read(signal),
    plan: (restore, signal) => restore.plan("always-on", signal),
    write: (restore, signal) => restore.write("always-on", signal),
  },
  powerlimit: {
    read: (powerlimit, signal) => powerlimit.read(signal),
    plan: (powerlimit, signal) => powerlimit.plan(400, signal),
    write: (powerlimit, signal) => powerlimit.write(400, signal),
  },
  sensors: {
    offered: (sensors, signal) => sensors.offered(signal),
    read: (sensors, signal) => sensors.read(signal),
  },
  sol: {
    offered: (sol, signal) => sol.offered(signal),
    active: (sol, signal) => sol.active(signal),
    deactivate: (sol, signal) => sol.deactivate(signal),
  },
  console: {
    offered: (console, signal) => console.offered(signal),
    holder: (console, signal) => console.holder(signal),
    plan: (console) => console.plan(true),
    takeOver: (console, signal) => console.takeOver(signal),
    watch: (console, signal) => console.watch(SINK, AbortSignal.abort(), signal),
  },
  nmi: {
    offered: (nmi, signal) => nmi.offered(signal),
    plan: (nmi, signal) => nmi.plan(signal),
    send: (nmi, signal) => nmi.send(signal),
  },
  screenshot: {
    offered: (screenshot, signal) => screenshot.offered(signal),
    plan: (screenshot, signal) => screenshot.plan(signal),
    take: (screenshot, signal) => screenshot.take(signal),
  },
};

/** The calls of these drivers, by a name such as `power.read`. */
export function driverCalls(
  names: readonly DriverName[],
): ReadonlyMap<string, (session: Session, signal: AbortSignal) => unknown> {
  return new Map(names.flatMap((name) => callsOf(name)));
}

function callsOf<Name extends DriverName>(name: Name) {
  const calls: Readonly<Record<string, (driver: Drivers[Name], signal: AbortSignal) => unknown>> =
    CALLS[name];
  return Object.entries(calls).map(([method, call]) => {
    const onSession = (session: Session, signal: AbortSignal) => {
      const driver: Session[Name] = session[name];
      return driver ? call(driver as Drivers[Name], signal) : undefined;
    };
    return [`${name}.${method}`, onSession] as const;
  });
}
