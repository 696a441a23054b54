/** A problem in the configuration and its place: `--grpc-server`, `PBNJ_RUNTIME`, `worker.yaml:12`. */
export interface Problem {
  readonly source: string;
  /** One line. */
  readonly message: string;
  /** How to fix it, in one or more lines. */
  readonly fix?: string;
}

/** The result of a check: the value, or all its problems. */
export type Checked<T> =
  | { readonly ok: true; readonly value: T; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function formatProblem({ source, message }: Problem): string {
  return `${source}: ${message}`;
}

/** Problems of one file in the order of their lines. */
export function byLine(problems: readonly Problem[]): readonly Problem[] {
  const line = ({ source }: Problem): number => Number(/:(\d+)$/.exec(source)?.[1] ?? 0);
  return problems.toSorted((a, b) => line(a) - line(b));
}
