/** Something wrong with what an operator wrote, and where: `--grpc-server`, `PBNJ_RUNTIME`, `worker.yaml:12`. */
export interface Problem {
  readonly source: string;
  readonly message: string;
}

/** What reading an operator's input came to: the value, or everything that is wrong with it. */
export type Checked<T> =
  | { readonly ok: true; readonly value: T; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function formatProblem({ source, message }: Problem): string {
  return `${source}: ${message}`;
}

/** Every problem, a line each, for the terminal of whoever called `command`. */
export function problemReport(command: string, problems: readonly Problem[]): string {
  const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
  const lines = problems.map((problem) => `  - ${formatProblem(problem)}`).join("\n");
  return `${command}: ${count}, nothing was started:\n${lines}\n`;
}

/** Problems of one file in the order of their lines. */
export function byLine(problems: readonly Problem[]): readonly Problem[] {
  const line = ({ source }: Problem): number => Number(/:(\d+)$/.exec(source)?.[1] ?? 0);
  return problems.toSorted((a, b) => line(a) - line(b));
}
