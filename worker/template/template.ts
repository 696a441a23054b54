/** A Tinkerbell template after rendering, in this project's names. Times are in seconds, 0 where none is set. */
export interface Template {
  readonly version: string;
  readonly name: string;
  readonly id?: string;
  readonly globalTimeoutSeconds: number;
  readonly tasks: readonly TemplateTask[];
}

export interface TemplateTask {
  readonly name: string;
  /** The agent ID that runs the task. */
  readonly worker: string;
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly actions: readonly TemplateAction[];
}

export interface TemplateAction {
  readonly name: string;
  readonly image: string;
  readonly timeoutSeconds: number;
  readonly command: readonly string[];
  readonly onTimeout: readonly string[];
  readonly onFailure: readonly string[];
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly pid?: string;
  readonly namespaces?: { readonly network?: string; readonly pid?: string };
}

/** What is wrong with a template, and where in its source: both count from 1, columns in characters. */
export interface TemplateProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}
