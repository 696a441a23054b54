import { setFlagsFromString } from "node:v8";
import type { StopSignal } from "../../shared/contract/exit-code.ts";

/** An output stream, which may be a terminal. */
interface OutputStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** The parts of the process that a command uses. */
export interface CommandProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** The descriptor of `stderr`, if it has one. The log is written to it directly, before the call returns. */
  readonly stderrFd?: number;
  on(signal: StopSignal | "SIGUSR2", listener: () => void): unknown;
  exit(code: number): void;
  /**
   * Keeps a mostly idle process small. V8 grows the space for new objects to tens of megabytes in the first burst, such as a
   * thousand polls at once, and does not shrink it while the process idles. A small space is collected more often under load.
   */
  keepHeapSmall(): void;
  /**
   * Undoes `keepHeapSmall`. In a process that runs actions, collecting garbage in a small space takes a sixth of the CPU
   * time.
   */
  letHeapGrow(): void;
}

/** V8's default for the growth of its new space. */
const DEFAULT_GROWTH_FACTOR = 2;

/** The process that runs `pbnj-worker`. */
export const ownProcess: CommandProcess = {
  env: process.env,
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  stderrFd: 2,
  on: (signal, listener) => process.on(signal, listener),
  exit: (code) => process.exit(code),
  keepHeapSmall() {
    setGrowthFactor(1);
    // On exit the launcher writes V8's code cache, which V8 rejects if it was written with other flags than at the next start.
    process.prependOnceListener("exit", () => setGrowthFactor(DEFAULT_GROWTH_FACTOR));
  },
  letHeapGrow: () => setGrowthFactor(DEFAULT_GROWTH_FACTOR),
};

function setGrowthFactor(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}
