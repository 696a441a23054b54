import { defined } from "../../shared/defined.ts";
import { readRecording } from "../../shared/recording/read-recording.ts";
import { type Recording, WSMAN_REQUEST } from "../../shared/recording/recording.ts";
import { type AmtDevice, startAmtDevice } from "../amt/device.ts";
import { type IpmiBmc, startIpmiBmc } from "../ipmi/bmc.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../redfish/bmc.ts";
import type { WebServerTls } from "../web-server.ts";
import { AmtReplay } from "./amt-replay.ts";
import { adoptPower, amtOptions } from "./recorded-amt.ts";
import { adoptState, ipmiOptions, replayOn } from "./recorded-ipmi.ts";
import { RecordedTree } from "./recorded-tree.ts";

export interface StartRecordingOptions {
  /** Defaults to the replacement of the recorded user, or to `admin`. */
  readonly username?: string;
  /** Defaults to `recorded-machine`. */
  readonly password?: string;
  /** Defaults to 127.0.0.1. */
  readonly host?: string;
  /** Defaults to 0, a free port. */
  readonly port?: number;
  /** The factor by which it is faster than the recording. Defaults to 1. */
  readonly speed?: number;
  /** `http`, or a certificate with its key in PEM. Defaults to a self-signed certificate. */
  readonly tls?: WebServerTls;
  /** How long the machine takes to change its power; short by default. */
  readonly machine?: SimulatedMachineOptions;
  /** How long the BMC is unavailable after a reset. */
  readonly restartMs?: number;
}

/** A running recorded machine. */
export interface RunningRecording {
  readonly recording: Recording;
  readonly machine: SimulatedMachine;
  readonly redfish: RedfishBmc;
  /** Absent if the recording has no IPMI. Listens at the given port or at a free one. */
  readonly ipmi?: IpmiBmc;
  /**
   * Absent if the recording has no Intel AMT. Listens at the given port if the recording has no Redfish tree, otherwise at a
   * free one.
   */
  readonly amt?: AmtDevice;
  readonly username: string;
  readonly password: string;
  /** The host key of the serial console over SSH, if there is one, in the form of `redfish.sshHostKey` in a connection. */
  readonly sshHostKey?: string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const RESTART_MS = 1_500;

/** Starts a recorded machine from a file, a folder with a mockup, or a recording that was read. */
export async function startRecording(
  source: string | Recording,
  options: StartRecordingOptions = {},
): Promise<RunningRecording> {
  const recording = typeof source === "string" ? await readRecording(source) : source;
  const started = new AsyncDisposableStack();
  try {
    return await start(recording, options, started);
  } catch (thrown) {
    await started.disposeAsync();
    throw thrown;
  }
}

async function start(
  recording: Recording,
  options: StartRecordingOptions,
  started: AsyncDisposableStack,
): Promise<RunningRecording> {
  const { password = "recorded-machine", speed = 1, host, port, tls, restartMs = RESTART_MS } = options;
  const username = options.username ?? recording.login ?? "admin";
  const machine = new SimulatedMachine({ ...options.machine });
  const recordedIpmi = recording.ipmi ?? (recording.commands && {});
  if (recordedIpmi) adoptState(recordedIpmi, machine);
  else if (recording.amt) adoptPower(recording.amt, machine);
  const { exchanges = [] } = recording;
  const ofRedfish = exchanges.filter(({ request }) => request !== WSMAN_REQUEST);
  const tree = new RecordedTree(
    { ...recording, exchanges: ofRedfish },
    { machine, username, password, speed },
  );
  const latencyMs = (recording.latencyMs ?? 0) / speed;
  const isOnlyAmt = recording.amt !== undefined && Object.keys(recording.resources).length === 0;
  const redfish = await startRedfishBmc({
    machines: [machine],
    profile: tree.profile,
    tree,
    username,
    password,
    latencyMs,
    ...defined({ host, port: isOnlyAmt ? undefined : port, tls }),
  });
  started.defer(() => redfish.close());
  // The answer is sent first.
  tree.onRestart = () => setTimeout(() => void redfish.restart(restartMs / speed), 50);
  const ipmi =
    recordedIpmi &&
    (await startIpmiBmc({
      ...ipmiOptions(recordedIpmi, { username, password }),
      machine,
      restartMs: restartMs / speed,
      ...defined({ host, port }),
    }));
  if (ipmi) started.defer(() => ipmi.close());
  if (ipmi && recordedIpmi) replayOn(ipmi, recordedIpmi, recording.commands ?? [], speed);
  const amt =
    recording.amt &&
    (await startAmtDevice({
      ...amtOptions(recording.amt),
      replay: new AmtReplay(exchanges, speed, machine),
      machine,
      username,
      password,
      // With the same certificate.
      ...defined({ host, port: isOnlyAmt ? port : undefined, tls: redfish.certificate ?? ("http" as const) }),
    }));
  if (amt) started.defer(() => amt.close());
  const { sshConsole } = tree;
  // Loaded only if needed.
  const console =
    sshConsole &&
    (await (
      await import("../ssh-console.ts")
    ).startSshConsole({ machine, username, password, ...sshConsole }));
  if (console) started.use(console);
  const close = () => started.disposeAsync();
  const sshHostKey = console?.fingerprint;
  return {
    recording,
    machine,
    redfish,
    username,
    password,
    close,
    ...defined({ ipmi, amt, sshHostKey }),
    [Symbol.asyncDispose]: close,
  };
}
