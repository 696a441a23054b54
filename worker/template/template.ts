/** A rendered Tinkerbell template, in this project's names. Times are in seconds; 0 means not set. */
export interface Template {
  readonly version: string;
  readonly name: string;
  readonly id?: string;
  readonly globalTimeoutSeconds: number;
  readonly tasks: readonly TemplateTask[];
  /** The Workflow that the server rendered the template for; absent for the file of a template. */
  readonly workflow?: WorkflowFacts;
}

interface WorkflowFacts {
  readonly namespace: string;
  readonly name: string;
  /** Without the prefix `STATE_` of earlier versions, such as `PENDING`. */
  readonly state: string;
  /** A tink server serves no action of a disabled Workflow. */
  readonly disabled: boolean;
}

export interface TemplateTask {
  readonly name: string;
  /** Agent ID. */
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

/** A problem in a template's source. Lines and columns count from 1, columns in characters. */
export interface TemplateProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}
