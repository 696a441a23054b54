import { printableLine } from "../../shared/printable.ts";
import { type AmtDevice, startAmtDevice } from "../../simulators/amt/device.ts";
import type { Certificate } from "../../simulators/certificate.ts";
import { startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRecording } from "../../simulators/recorded/start-recording.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";

interface BmcOptions {
  readonly machine: SimulatedMachine;
  readonly host: string;
  /** The port to listen on; 0 takes a free port. */
  readonly port: number;
  readonly username: string;
  readonly password: string;
  /** The delay that is added to every answer, in milliseconds. */
  readonly latencyMs: number;
  /** The certificate of the BMC's web server, if it uses TLS. */
  readonly certificate: Certificate;
}

/** A running simulated BMC. */
interface RunningBmc {
  readonly port: number;
  /** The inventory entry except the name and host. */
  readonly entry: Readonly<Record<string, unknown>>;
  close(): Promise<void>;
}

interface Kind {
  readonly label: string;
  start(options: BmcOptions): Promise<RunningBmc>;
}

const redfish = (label: string, profile: string): Kind => ({
  label,
  start: async ({ machine, certificate, ...options }) => {
    const bmc = await startRedfishBmc({ ...options, machines: [machine], profile, tls: certificate });
    const { port, fingerprint } = bmc;
    const entry = { providers: ["redfish"], tls: { fingerprint }, redfish: { port } };
    return { port, entry, close: () => bmc.close() };
  },
});

const ipmi: Kind = {
  label: "IPMI",
  start: async ({ username, password, latencyMs, certificate: _, ...options }) => {
    const users = [{ name: username, password, privilege: "operator" as const }];
    const bmc = await startIpmiBmc({ ...options, users, network: { latencyMs } });
    return {
      port: bmc.port,
      entry: { providers: ["ipmi"], ipmi: { port: bmc.port } },
      close: () => bmc.close(),
    };
  },
};

const amt: Kind = {
  label: "Intel AMT",
  start: async (options) => {
    const device: AmtDevice = await startAmtDevice({ ...options, tls: "http" });
    const { port } = device.http;
    return { port, entry: { providers: ["amt"], amt: { port } }, close: () => device.close() };
  },
};

/** The kinds of machines in a lab, used in turn. */
const KINDS: readonly Kind[] = [
  redfish("Redfish", "generic"),
  redfish("Redfish, iDRAC 10", "dell-idrac10"),
  ipmi,
  amt,
  redfish("Redfish, iLO 5", "hpe-ilo5"),
  redfish("Redfish, Supermicro", "supermicro"),
];

interface Fault {
  readonly label: string;
  readonly ignoresShutdown?: true;
  readonly refusesPassword?: true;
  readonly unreachable?: true;
  readonly latencyMs?: number;
}

/** The faults of a lab's faulty machines, used in turn. */
const FAULTS: readonly Fault[] = [
  { label: "ignores graceful shutdowns", ignoresShutdown: true },
  { label: "refuses the password", refusesPassword: true },
  { label: "answers after 1 s", latencyMs: 1_000 },
  { label: "is unreachable", unreachable: true },
];
/** One machine in this many is faulty. */
const FAULTY_OF = 4;

export interface MachineTimes {
  readonly powerOnMs: number;
  readonly powerOffMs: number;
  readonly softOffMs: number;
}

export interface LabMachine {
  readonly machine: SimulatedMachine;
  /** The protocol and vendor, for display. */
  readonly bmc: string;
  /** The port: UDP for IPMI, TCP otherwise. */
  readonly port: number;
  /** What is wrong with the machine, for display. */
  readonly fault?: string;
  readonly entry: RunningBmc["entry"];
  close(): Promise<void>;
}

export interface LabMachineOptions extends Omit<BmcOptions, "machine" | "latencyMs" | "certificate"> {
  /** The index of the machine, counted from 0. */
  readonly index: number;
  readonly faults: boolean;
  readonly times: MachineTimes;
  readonly certificateFor: (machine: string) => Certificate;
}

/** Starts the machine with this index. Rejects if its port is in use. */
export async function startMachine(options: LabMachineOptions): Promise<LabMachine> {
  const { index, faults, times, password, certificateFor, ...address } = options;
  const kind = KINDS[index % KINDS.length] as Kind;
  const fault = faults && index % FAULTY_OF === 0 ? FAULTS[(index / FAULTY_OF) % FAULTS.length] : undefined;
  const name = `node-${String(index + 1).padStart(2, "0")}`;
  const softOffMs = fault?.ignoresShutdown ? "never" : times.softOffMs;
  const machine = new SimulatedMachine({ name, ...times, softOffMs });
  const { port, entry, close } = await kind.start({
    ...address,
    machine,
    password: fault?.refusesPassword ? [...password].reverse().join("") : password,
    latencyMs: fault?.latencyMs ?? 0,
    certificate: certificateFor(name),
  });
  if (fault?.unreachable) await close();
  return {
    machine,
    bmc: kind.label,
    port,
    ...(fault && { fault: fault.label }),
    entry,
    async close() {
      if (!fault?.unreachable) await close();
      machine.close();
    },
  };
}

export interface RecordedMachineOptions extends Omit<LabMachineOptions, "index" | "faults"> {
  readonly file: string;
  readonly name: string;
  readonly speed: number;
}

/** Starts a recorded machine. Rejects if the file is not a recording or the port is in use. */
export async function startRecordedMachine(options: RecordedMachineOptions): Promise<LabMachine> {
  const { file, name, speed, times, certificateFor, username: _, ...address } = options;
  const running = await startRecording(file, {
    ...address,
    speed,
    machine: { name, ...times },
    tls: certificateFor(name),
  });
  const { redfish, ipmi: overLan, amt: device, machine, recording, username, sshHostKey } = running;
  const hasTree = Object.keys(recording.resources).length > 0;
  const providers = [
    ...(hasTree ? ["redfish"] : []),
    ...(overLan ? ["ipmi"] : []),
    ...(device ? ["amt"] : []),
  ];
  const { vendor, model } = recording;
  return {
    machine,
    bmc: printableLine(["Recorded", vendor, model].filter(Boolean).join(" ")).slice(0, 80),
    port: (hasTree ? redfish : (device?.http ?? redfish)).port,
    entry: {
      providers,
      tls: { fingerprint: redfish.fingerprint },
      ...(overLan && { ipmi: { port: overLan.port } }),
      ...(device && { amt: { port: device.http.port, scheme: "https" } }),
      redfish: { port: redfish.port, ...(sshHostKey !== undefined && { sshHostKey }) },
      credentials: { username, passwordFile: "bmc-password" },
    },
    close: () => running.close(),
  };
}
