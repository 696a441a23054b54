import { WORKER_RESULT_FILE } from "../../../shared/contract/result.ts";
import { DEADLINE_VARIABLE } from "./left-processes.ts";

/** What a child needs of the worker's environment to find programs, certificates and its language. */
const INHERITED = [
  "PATH",
  "HOME",
  "TMPDIR",
  "TZ",
  "LANG",
  "LC_ALL",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];

export interface ChildEnvironment {
  /** The worker's environment; only an allow-list of it reaches the child, never its secrets. */
  readonly inherited: Readonly<Record<string, string | undefined>>;
  readonly action: Readonly<Record<string, string>>;
  readonly connectionOnStdin: boolean;
  /** Where it leaves its result for a worker that comes back. */
  readonly resultFile?: string;
  /** When its time is over. */
  readonly deadline?: Date;
  readonly compileCacheDirectory?: string;
}

export function childEnvironment(from: ChildEnvironment): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = from.inherited[name];
    if (value !== undefined) environment[name] = value;
  }
  if (from.compileCacheDirectory) environment["NODE_COMPILE_CACHE"] = from.compileCacheDirectory;
  Object.assign(environment, from.action);
  if (from.deadline) environment[DEADLINE_VARIABLE] = from.deadline.toISOString();
  if (from.resultFile) environment[WORKER_RESULT_FILE] = from.resultFile;
  if (from.connectionOnStdin) environment["BMC_CONNECTION_FILE"] = "-";
  return environment;
}
