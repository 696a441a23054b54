import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { onTestFinished } from "vitest";
import { fullRecord } from "../../simulators/ipmi/sdr-record.ts";
import { freeUdpPort } from "./free-port.ts";
import { untilIpmiAnswers } from "./ipmi-peer.ts";
import { findProgram } from "./programs.ts";

interface Sim {
  readonly port: number;
  /** The machine's end of the emulated serial port. */
  readonly serial: Socket;
  /** What the chassis script was told, one line a call. */
  calls(): Promise<string>;
}

interface SimOptions {
  readonly chassis?: string;
  readonly password?: string;
  /** What FRU 0 holds; there is none when absent. */
  readonly fru?: Buffer;
}

/** OpenIPMI's simulator with one chassis, whose script keeps its state in files unless another is given. */
export async function startIpmiSim(options: SimOptions = {}): Promise<Sim> {
  const sim = await runIpmiSim(options);
  onTestFinished(sim.close);
  return sim;
}

/** Starts the simulator outside a test: the caller closes it. */
export async function runIpmiSim({
  chassis = CHASSIS,
  password = "password",
  fru,
}: SimOptions = {}): Promise<Sim & { readonly close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-ipmi-sim-"));
  const port = await freeUdpPort();
  await mkdir(join(folder, "state"));
  const serialPort = createServer().listen(0, "127.0.0.1");
  await once(serialPort, "listening");
  const connected = once(serialPort, "connection", { signal: AbortSignal.timeout(15_000) });
  await writeFile(
    join(folder, "lan.conf"),
    lanConfiguration(port, (serialPort.address() as AddressInfo).port, password),
  );
  const fruData = fru ? `mc_add_fru_data 0x20 0 ${fru.length} data ${hexBytes(fru)}\n` : "";
  await writeFile(join(folder, "sim.emu"), EMULATOR.replace("mc_enable", `${fruData}mc_enable`));
  await writeFile(join(folder, "chassis.sh"), chassis);
  await chmod(join(folder, "chassis.sh"), 0o755);
  await writeFile(join(folder, "calls"), "");
  const argv = ["-c", "lan.conf", "-f", "sim.emu", "-s", "state", "-n"];
  const child = execa(findProgram("ipmi_sim") ?? "ipmi_sim", argv, {
    cwd: folder,
    stdin: "ignore",
    reject: false,
    forceKillAfterDelay: 1_000,
  });
  let serial: Socket | undefined;
  const close = async () => {
    child.kill();
    await child;
    serial?.destroy();
    serialPort.close();
    await rm(folder, { recursive: true });
  };
  try {
    await untilIpmiAnswers(port);
    [serial] = (await connected) as [Socket];
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return { port, serial, calls: () => readFile(join(folder, "calls"), "utf8"), close };
}

function lanConfiguration(port: number, serialPort: number, password: string): string {
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
  user 2 true  "admin" "${password}" admin 10 none md2 md5 straight
`;
}

/** A temperature sensor with the number 2. */
const SENSOR = hexBytes(
  fullRecord({ name: "CPU1 Temp", kind: "temperature", value: 0, upperWarning: 85, upperCritical: 95 }, 2),
);

function hexBytes(bytes: Buffer): string {
  return [...bytes].map((byte) => `0x${byte.toString(16)}`).join(" ");
}

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
