/** A rendered Tinkerbell template with this project's names. Times are in seconds; 0 means not set. */
export interface Template {
  readonly version: string;
  readonly name: string;
  readonly id?: string | undefined;
  readonly globalTimeoutSeconds: number;
  readonly tasks: readonly TemplateTask[];
  /** The Workflow that the server rendered the template for; absent for a template file. */
  readonly workflow?: WorkflowFacts;
}

interface WorkflowFacts {
  readonly namespace: string;
  readonly name: string;
  /** The state without the prefix `STATE_` of earlier versions, such as `PENDING`. */
  readonly state: string;
  /** Whether the Workflow is disabled; a tink server serves none of its actions. */
  readonly disabled: boolean;
}

export interface TemplateTask {
  readonly name: string;
  /** The agent ID. */
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
  readonly pid?: string | undefined;
  readonly namespaces?:
    | { readonly network?: string | undefined; readonly pid?: string | undefined }
    | undefined;
}

/** A problem in a template's source. Lines and columns count from 1, columns in characters. */
export interface TemplateProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}
