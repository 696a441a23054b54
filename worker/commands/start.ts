import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../../shared/contract/exit-code.ts";
import type { Problem } from "../../shared/document/problem.ts";
import type { LogLevel } from "../../shared/logger.ts";
import { programLine } from "../../shared/printable.ts";
import { type ReadTextFile, readTextFile } from "../../shared/read-text-file.ts";
import { textOf } from "../../shared/text-of.ts";
import { version } from "../../shared/version.ts";
import {
  openStateDirectory,
  type StateDirectory,
  StateDirectoryProblem,
} from "../core/journal/state-directory.ts";
import type { Worker } from "../core/lanes/worker.ts";
import { filesOpenToAll } from "../document/open-to-all.ts";
import { problemReport } from "../document/problem-report.ts";
import type { Cluster } from "../kubernetes/client/cluster.ts";
import { isKubernetesError } from "../kubernetes/client/kubernetes-error.ts";
import { loadConfig } from "../main/load-config.ts";
import { openCluster } from "../main/open-cluster.ts";
import { type OpenedWorker, openWorker } from "../main/open-worker.ts";
import { FEATURES, type WorkerConfig } from "../main/settings.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import type { CommandProcess } from "./command-process.ts";
import { createLogger, type WorkerLog } from "./logger.ts";

/** Deadline of the first check of the runtime. */
const CHECK_MS = 10_000;

/**
 * Runs `pbnj-worker start`, or `serve`, which has no tink server. Resolves to the exit code: 0 if the worker stopped after
 * all actions had ended, 128 plus the signal if actions were cancelled, 2 for an invalid configuration, and 75 if a later
 * start may succeed with the same settings, for example after a full disk or while another worker leads.
 */
export async function start(
  flags: Readonly<Record<string, unknown>>,
  unknown: readonly Problem[],
  own: SelfProgram,
  host: CommandProcess,
  command: "start" | "serve" = "start",
): Promise<number> {
  const program = `pbnj-worker ${command}`;
  const { env } = host;
  host.keepHeapSmall();
  let unreadable: unknown;
  const readFile: ReadTextFile = (path) => {
    try {
      return readTextFile(path);
    } catch (thrown) {
      if (isTemporary(thrown)) unreadable = thrown;
      throw thrown;
    }
  };
  const loaded = loadConfig({ flags, env, readFile, actions: own.library.names() }, command);
  if (!loaded.ok || unknown.length > 0) {
    host.stderr.write(problemReport(program, [...unknown, ...(loaded.ok ? [] : loaded.problems)]));
    return failedStart(unreadable);
  }
  const { config, warnings } = loaded;
  if (config.runtime.kind === "in-process") host.letHeapGrow();
  const log = createLogger(config.log, host);
  switchLevelOnSignal(host, log, config.log.level);
  for (const { source, message } of warnings) log.warn({ source }, message);
  for (const file of await filesOpenToAll(secretFiles(config))) {
    log.warn({ file }, "secret file is readable by every user of this host");
  }
  const opening = await openCluster(config);
  if (!opening.ok) {
    host.stderr.write(programLine(program, opening.reason));
    return exitCodeOf("usage");
  }
  const { cluster } = opening;
  const refused = cluster && (await refusalOf(config, cluster));
  if (refused !== undefined) {
    host.stderr.write(programLine(program, refused));
    await cluster?.close();
    return exitCodeOf("usage");
  }
  let state: StateDirectory;
  let opened: OpenedWorker;
  try {
    state = await openStateDirectory(config.stateDirectory);
    opened = await openWorker(config, { log, own, env, state, cluster });
  } catch (thrown) {
    if (!(thrown instanceof StateDirectoryProblem)) throw thrown;
    host.stderr.write(programLine(program, thrown.message));
    return failedStart(thrown);
  }
  const { worker, journal } = opened;
  const denied = await launchProblem(opened, config);
  if (denied !== undefined) {
    host.stderr.write(programLine(program, denied));
    await opened.flush({ stateLost: false });
    await state.close();
    return EXIT_TEMPORARY_FAILURE;
  }
  try {
    await worker.open();
    await opened.serve();
  } catch (thrown) {
    host.stderr.write(programLine(program, textOf(thrown)));
    await opened.flush({ stateLost: false });
    await state.close();
    return failedStart(thrown);
  }
  const received = stopOnSignals(host, worker);
  log.info(
    {
      version,
      server: config.server?.server,
      tls: config.server?.tls,
      runtime: config.runtime.kind,
      lanes: config.agentIds.length,
      maxActions: config.maxActions,
      machines: config.inventory.machines().length,
      stateDirectory: state.path,
      unfinished: journal.unfinished().length,
    },
    "worker started",
  );
  const ended = new AbortController();
  const stateLost = state.untilLost(ended.signal, log);
  const run = worker.run().finally(() => ended.abort());
  const problem = await Promise.race([stateLost, worker.lost, run.then(() => undefined)]);
  if (problem !== undefined) {
    // Stop as if the process were killed: the other worker adopts the running actions.
    if (typeof problem === "string") log.error({ reason: problem }, "leadership lost, exiting");
    else log.error({ error: problem.message }, "state directory lost, exiting");
    await opened.flush({ stateLost: typeof problem !== "string" });
    return EXIT_TEMPORARY_FAILURE;
  }
  const end = await run;
  // Flushing writes to the state directory.
  await opened.flush({ stateLost: false });
  await state.close();
  await cluster?.close();
  log.info({ end }, "worker stopped");
  return end === "cancelled" ? exitCodeOf("cancelled", received()) : EXIT_OK;
}

/**
 * Resolves to the reason why no action can be launched until the operator changes something, with the fix. Undefined for an
 * engine or a cluster that is unavailable: the worker waits for it without polling.
 */
async function launchProblem(opened: OpenedWorker, config: WorkerConfig): Promise<string | undefined> {
  try {
    await opened.checkRuntime(AbortSignal.timeout(CHECK_MS));
    return undefined;
  } catch (thrown) {
    if (thrown instanceof StateDirectoryProblem) return thrown.message;
    const { kind } = config.runtime;
    const isLasting =
      kind === "process" || isPermissionDenied(thrown) || (await hasNoFolder(thrown, config.runtime));
    if (!isLasting) return undefined;
    const { runtimeFailure } = await import("../doctor/check-runtime.ts");
    const { detail, remedy } = await runtimeFailure(config.runtime, thrown);
    // The message of missing rights names them and how to grant them.
    return kind === "kubernetes" ? detail : `${detail}. Fix: ${remedy}`;
  }
}

/** Whether the folder of the engine's socket is missing, which no start of the engine creates for this process. */
async function hasNoFolder(thrown: unknown, runtime: WorkerConfig["runtime"]): Promise<boolean> {
  const isAbsent = hasCode(thrown, new Set(["ENOENT", "ENOTDIR"]));
  if (!isAbsent || runtime.kind !== "docker" || runtime.engine.socketPath === undefined) return false;
  return stat(dirname(runtime.engine.socketPath)).then(
    () => false,
    () => true,
  );
}

/** The paths of the files with secrets that the worker's own servers use. */
function secretFiles({ http, pbnj }: WorkerConfig): readonly string[] {
  const secrets = [http?.files.token, http?.files.key, pbnj?.files.jwtSecret, pbnj?.files.key];
  return secrets.flatMap((secret) => (secret ? [secret.path] : []));
}

/** The exit code of a start that failed for this reason. */
function failedStart(thrown: unknown): number {
  return isTemporary(thrown) ? EXIT_TEMPORARY_FAILURE : exitCodeOf("usage");
}

/** Returns one line that says why a feature must not start; undefined if all may. */
async function refusalOf(config: WorkerConfig, cluster: Cluster): Promise<string | undefined> {
  for (const { name, isUsed, refusal } of FEATURES) {
    const reason = isUsed(config) ? await refusal?.(config, cluster) : undefined;
    if (reason !== undefined) return `${name}: ${reason}`;
  }
  return undefined;
}

/**
 * Stops the worker on the first SIGTERM or SIGINT, which lets running actions end, and cancels them on the second. The
 * returned function gives the last signal.
 */
function stopOnSignals(host: CommandProcess, worker: Worker): () => StopSignal {
  let received: StopSignal | undefined;
  const onSignal = (signal: StopSignal) => {
    if (received) worker.cancel();
    else worker.stop();
    received = signal;
  };
  host.on("SIGTERM", () => onSignal("SIGTERM"));
  host.on("SIGINT", () => onSignal("SIGINT"));
  return () => received ?? "SIGTERM";
}

/** SIGUSR2 toggles between the debug level and the configured one. Windows has no such signal. */
function switchLevelOnSignal(host: CommandProcess, log: WorkerLog, configured: LogLevel): void {
  let level = configured;
  host.on("SIGUSR2", () => {
    level = level === "debug" ? configured : "debug";
    // Log at the lower level: a log at level error would omit the message.
    if (level === "debug") log.setLevel(level);
    log.info({ logLevel: level, signal: "SIGUSR2" }, "log level changed");
    log.setLevel(level);
  });
}

/** EX_TEMPFAIL of sysexits(3): service managers start the worker again. */
export const EXIT_TEMPORARY_FAILURE = 75;

/**
 * System errors that may disappear without a change of settings: a full or failing disk, too many open files, an address in
 * use.
 */
const TEMPORARY_CODES = new Set(
  (
    "ENOSPC EDQUOT EIO EROFS ESTALE EBUSY EAGAIN EINTR EMFILE ENFILE ENOMEM " +
    "EADDRINUSE EADDRNOTAVAIL EAI_AGAIN ETIMEDOUT"
  ).split(" "),
);

/** SQLite's primary result codes: busy, no memory, read-only, I/O error, disk full. */
const TEMPORARY_SQLITE_CODES = new Set([5, 7, 8, 10, 13]);

/** Whether the system or the cluster denies access. */
function isPermissionDenied(thrown: unknown): boolean {
  return isKubernetesError(thrown, "forbidden") || hasCode(thrown, DENIED_CODES);
}

/** Whether an error has one of these codes. Checks the causes as well. */
function hasCode(thrown: unknown, codes: ReadonlySet<string>): boolean {
  if (!(thrown instanceof Error)) return false;
  return ("code" in thrown && codes.has(String(thrown.code))) || hasCode(thrown.cause, codes);
}

const DENIED_CODES = new Set(["EACCES", "EPERM"]);

/** Whether a failed start may succeed later with the same settings. Checks the causes as well. */
export function isTemporary(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if ("code" in thrown && TEMPORARY_CODES.has(String(thrown.code))) return true;
  if ("errcode" in thrown && TEMPORARY_SQLITE_CODES.has(Number(thrown.errcode) & 0xff)) return true;
  return isTemporary(thrown.cause);
}
