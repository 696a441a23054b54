import { WORKER_RESULT_FILE } from "../../../shared/contract/result.ts";

/** Variables that identify the processes of a worker after its restart. */
export const LABEL_VARIABLE = {
  state: "PBNJ_WORKER_STATE",
  key: "PBNJ_ACTION_KEY",
  /** The deadline in ISO 8601. Long after it, the process is an orphan. */
  deadline: "PBNJ_ACTION_DEADLINE",
  /** The deadline as a boot time. */
  deadlineBootTime: "PBNJ_ACTION_DEADLINE_BOOT_TIME",
} as const;

/** Variables with which a child finds programs, certificates and its language. */
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
  readonly inherited: Readonly<Record<string, string | undefined>>;
  readonly action: Readonly<Record<string, string>>;
  readonly connectionOnStdin: boolean;
  readonly key: string;
  readonly deadline: Date;
  readonly deadlineBootTime?: string | undefined;
  /** The state directory's ID, and the file for the child's result, for a worker that adopts it. */
  readonly state?: { readonly id: string; readonly resultFile: string };
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
  environment[LABEL_VARIABLE.key] = from.key;
  environment[LABEL_VARIABLE.deadline] = from.deadline.toISOString();
  if (from.deadlineBootTime) environment[LABEL_VARIABLE.deadlineBootTime] = from.deadlineBootTime;
  if (from.state) {
    environment[LABEL_VARIABLE.state] = from.state.id;
    environment[WORKER_RESULT_FILE] = from.state.resultFile;
  }
  if (from.connectionOnStdin) environment["BMC_CONNECTION_FILE"] = "-";
  return environment;
}
