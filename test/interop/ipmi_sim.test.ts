import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it, onTestFinished } from "vitest";
import { Secret } from "../../shared/secret.ts";
import { fullRecord } from "../../simulators/ipmi/sdr-record.ts";
import { limit, openSession } from "../shared/bmc/providers/ipmi/bench.ts";
import { scaledClock } from "../support/scaled-clock.ts";
import { freeUdpPort, untilIpmiAnswers } from "./ipmi-peer.ts";
import { describeWithProgram, findProgram } from "./programs.ts";

const USER = { username: "admin", password: "password", ipmi: { allowSuite3: true } };
const AS_ADMINISTRATOR = { ...USER, ipmi: { ...USER.ipmi, privilege: "administrator" } };

interface Sim {
  readonly port: number;
  /** The emulated serial port, as a machine has it. */
  readonly serial: Socket;
  /** What the chassis script was told, one line a call. */
  calls(): Promise<string>;
}

/** OpenIPMI's simulator with one chassis whose state a script keeps in files. */
async function startIpmiSim(): Promise<Sim> {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-ipmi-sim-"));
  const port = await freeUdpPort();
  await mkdir(join(folder, "state"));
  const serialPort = createServer().listen(0, "127.0.0.1");
  await once(serialPort, "listening");
  const connected = once(serialPort, "connection", { signal: AbortSignal.timeout(15_000) });
  await writeFile(
    join(folder, "lan.conf"),
    lanConfiguration(port, (serialPort.address() as AddressInfo).port),
  );
  await writeFile(join(folder, "sim.emu"), EMULATOR);
  await writeFile(join(folder, "chassis.sh"), CHASSIS);
  await chmod(join(folder, "chassis.sh"), 0o755);
  await writeFile(join(folder, "calls"), "");
  const argv = ["-c", "lan.conf", "-f", "sim.emu", "-s", "state", "-n"];
  const child = execa(findProgram("ipmi_sim") ?? "ipmi_sim", argv, {
    cwd: folder,
    stdin: "ignore",
    reject: false,
    forceKillAfterDelay: 1_000,
  });
  onTestFinished(async () => {
    child.kill();
    await child;
    serialPort.close();
    await rm(folder, { recursive: true });
  });
  await untilIpmiAnswers(port);
  const [serial] = (await connected) as [Socket];
  return { port, serial, calls: () => readFile(join(folder, "calls"), "utf8") };
}

describeWithProgram("ipmi_sim", "the ipmi provider talks to OpenIPMI's ipmi_sim", () => {
  it("falls back to cipher suite 3 where that is allowed, and reads and changes power", async () => {
    const sim = await startIpmiSim();

    await expect(openSession(sim, { overrides: { ...USER, ipmi: {} } })).rejects.toMatchObject({
      class: "unsupported",
      message: expect.stringContaining("the BMC offers cipher suite 3 and not 17"),
    });
    await using session = await openSession(sim, { overrides: USER });
    expect(await session.power.read(limit())).toBe("off");
    await session.power.send("on", limit());
    expect(await session.power.read(limit())).toBe("on");
    await session.power.send("off", limit());
    expect(await session.power.read(limit())).toBe("off");

    expect(session.hint()).toEqual({ cipherSuite: 3 });
    expect(await sim.calls()).toContain("set power 1");
    expect(await sim.calls()).toContain("set power 0");
  });

  it("stays within the packet budget with a remembered suite", async () => {
    const sim = await startIpmiSim();

    await using session = await openSession(sim, { overrides: USER, hint: { cipherSuite: 3 } });
    await session.power.read(limit());

    expect(session.roundTrips()).toBe(4);
  });

  it("sets the boot device although this BMC knows no expiry", async () => {
    const sim = await startIpmiSim();
    await using session = await openSession(sim, { overrides: USER });

    await session.boot.write({ device: "pxe", persistent: false, mode: "uefi" }, limit());

    expect(await sim.calls()).toContain("set boot pxe");
  });

  it("says who it is, and lists and clears its event log", async () => {
    const sim = await startIpmiSim();
    await using session = await openSession(sim, { overrides: AS_ADMINISTRATOR });
    const { manager, sel } = session;
    if (!manager || !sel) throw new Error("a driver is missing");

    expect(await manager.info(limit())).toMatchObject({ firmware: "9.08", protocolVersion: "2.0" });
    // Its clock was never set and counts from its start.
    expect(await manager.clockMs(limit())).toBeUndefined();
    await sel.clear(limit());
    expect(await sel.list(limit())).toEqual([]);
  });

  it("reads its sensors out of its sensor data records", async () => {
    const sim = await startIpmiSim();
    await using session = await openSession(sim, { overrides: USER });

    expect(await session.sensors?.read(limit())).toEqual([
      {
        name: "CPU1 Temp",
        kind: "temperature",
        value: 48,
        unit: "°C",
        health: "ok",
        thresholds: { upperWarning: 85, upperCritical: 95 },
        entity: "system board 1",
      },
    ]);
  });

  it("makes, changes and removes a user", async () => {
    const sim = await startIpmiSim();
    await using administrator = await openSession(sim, { overrides: AS_ADMINISTRATOR });
    const { users } = administrator;
    if (!users) throw new Error("the session has no users");

    await users.create(
      { name: "worker", password: new Secret("worker-password"), role: "operator" },
      limit(),
    );
    const worker = (await users.list(limit())).find(({ name }) => name === "worker");
    expect(worker).toMatchObject({ role: "operator", enabled: true });
    const overrides = { ...USER, username: "worker", password: "worker-password" };
    await using session = await openSession(sim, { overrides });
    expect(await session.power.read(limit())).toBe("off");

    if (worker) await users.remove(worker, limit());
    await expect(openSession(sim, { overrides })).rejects.toMatchObject({ class: "auth" });
  });

  it("reads what a machine writes to its serial port, and writes nothing", async () => {
    const sim = await startIpmiSim();
    let written = "";
    sim.serial.on("data", (bytes) => {
      written += bytes;
    });
    const text = Array.from({ length: 200 }, (_, line) => `line ${line} of the firmware\r\n`).join("");
    await using session = await openSession(sim, { overrides: AS_ADMINISTRATOR });
    const done = new AbortController();
    let read = "";
    const watching = session.console?.watch(
      {
        opened: () => sim.serial.write(text),
        output: (bytes) => {
          read += Buffer.from(bytes).toString();
          if (read.length >= text.length) done.abort();
        },
        gap: () => undefined,
      },
      done.signal,
      limit(),
    );
    await watching;

    expect(read).toBe(text);
    expect(written).toBe("");
    // Released: the only instance can be activated again.
    expect(await session.console?.holder(limit())).toBeUndefined();
  });

  it("leaves the console to the session that has it, and takes it over when told", async () => {
    const sim = await startIpmiSim();
    // It sends no notice: the session finds out when it keeps itself alive.
    const overrides = { ...AS_ADMINISTRATOR, connectTimeoutMs: 120_000, requestTimeoutMs: 120_000 };
    await using owner = await openSession(sim, { overrides, clock: scaledClock(20) });
    await using other = await openSession(sim, { overrides: AS_ADMINISTRATOR });
    const opened = Promise.withResolvers<void>();
    const sink = { opened: () => opened.resolve(), output: () => undefined, gap: () => undefined };
    const watching = owner.console?.watch(sink, limit(), limit());
    watching?.catch(() => undefined);
    await opened.promise;

    // It does not say from where.
    expect(await other.console?.holder(limit())).toBe("another session");
    await expect(other.console?.watch(sink, limit(), limit())).rejects.toMatchObject({ class: "busy" });
    await other.console?.takeOver(limit());
    await expect(watching).rejects.toMatchObject({ class: "timeout" });
    expect(await other.console?.holder(limit())).toBeUndefined();
  });

  it("says that no controller answers behind it", async () => {
    const sim = await startIpmiSim();
    const ipmi = { ...USER.ipmi, bridge: { channel: 0, address: 0x72 } };
    await using session = await openSession(sim, { overrides: { ...USER, ipmi, requestTimeoutMs: 2_000 } });

    await expect(session.power.read(limit())).rejects.toMatchObject({ name: "BmcError" });
  });

  it("names a wrong password as such", async () => {
    const sim = await startIpmiSim();

    await expect(openSession(sim, { overrides: { ...USER, password: "wrong" } })).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("wrong password"),
    });
  });

  it("names an unknown user as such", async () => {
    const sim = await startIpmiSim();

    await expect(openSession(sim, { overrides: { ...USER, username: "stranger" } })).rejects.toMatchObject({
      class: "auth",
    });
  });

  it("uses up no session slots over thirty runs, failed ones included", async () => {
    const sim = await startIpmiSim();

    for (let run = 0; run < 30; run += 1) {
      if (run % 3 === 0) {
        const overrides = { ...USER, password: "wrong" };
        await expect(openSession(sim, { overrides })).rejects.toMatchObject({ class: "auth" });
      }
      await using session = await openSession(sim, { overrides: USER, hint: { cipherSuite: 3 } });
      expect(await session.power.read(limit())).toBe("off");
      await session.close();
    }
  });
});

function lanConfiguration(port: number, serialPort: number): string {
  return `name "bmcsim"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 ${port}
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "./chassis.sh 0x20"
  sol "tcp:127.0.0.1:${serialPort}" 115200
  user 1 true  ""      "test"     user  10 none md2 md5 straight
  user 2 true  "admin" "password" admin 10 none md2 md5 straight
`;
}

/** A temperature sensor with the number 2. */
const SENSOR = [
  ...fullRecord({ name: "CPU1 Temp", kind: "temperature", value: 0, upperWarning: 85, upperCritical: 95 }, 2),
]
  .map((byte) => `0x${byte.toString(16)}`)
  .join(" ");

const EMULATOR = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
sensor_add 0x20 0 0 35 0x6f event-only
sensor_add 0x20 0 2 1 1
sensor_set_threshold 0x20 0 2 settable 011000 0 95 85 0 0 0
sensor_set_event_support 0x20 0 2 enable scanning per-state 000111111000000 000111111000000 000111111000000 000111111000000
sensor_set_value 0x20 0 2 48 0
main_sdr_add 0x20 ${SENSOR}
mc_enable 0x20
`;

const CHASSIS = `#!/bin/sh
echo "$@" >> calls
shift
verb=$1
shift
if [ "$verb" = set ]; then
  echo "$2" > "$1"
  exit 0
fi
for key in "$@"; do
  case $key in
    power) echo "power:$(cat power 2>/dev/null || echo 0)" ;;
    boot) echo "boot:$(cat boot 2>/dev/null || echo none)" ;;
  esac
done
`;
