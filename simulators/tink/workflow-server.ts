import { parseTemplate } from "../../worker/template/parse-template.ts";
import { untilWorkflows } from "../until.ts";
import type { Listener } from "./listener.ts";
import { createWorkflow, type Workflow } from "./workflow.ts";

export interface Submission {
  /** The name. Defaults to `workflow-1` and so on. */
  readonly name?: string;
  /** The namespace. Defaults to `default`. */
  readonly namespace?: string;
  readonly template: string;
  /** The file of the template, for messages. */
  readonly file?: string;
  readonly values?: Readonly<Record<string, string>>;
}

/** What the simulated servers of both tink APIs have in common. */
export interface WorkflowServer extends AsyncDisposable {
  readonly port: number;
  /** The address in the form `host:port`. */
  readonly address: string;
  readonly connections: { readonly accepted: number; readonly open: number };
  /** Submits a workflow. Throws if the template is invalid, with every problem in the message. */
  submit(submission: Submission): Workflow;
  workflows(): readonly Workflow[];
  /** Resolves when the condition is true. Rejects after `timeoutMs`. */
  until(condition: () => boolean, timeoutMs?: number): Promise<void>;
  dropConnections(how?: "goaway" | "destroy"): void;
  /** Stops listening and cuts all connections, or first answers every call. Workflows are kept. */
  stop(how?: "cut" | "orderly"): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
  close(): Promise<void>;
}

interface Board {
  all(): readonly Workflow[];
  add(workflow: Workflow): void;
  close(): void;
}

const UNTIL_TIMEOUT_MS = 60_000;

/** Serves the workflows of `board`. The caller starts `listener`. */
export function workflowServer(board: Board, listener: Listener, host: string): WorkflowServer {
  async function close() {
    await listener.stop("cut");
    board.close();
  }
  return {
    get port() {
      return listener.port;
    },
    get address() {
      return `${host.includes(":") ? `[${host}]` : host}:${listener.port}`;
    },
    get connections() {
      return listener.connections;
    },
    submit({
      name = `workflow-${board.all().length + 1}`,
      namespace = "default",
      template,
      file,
      values = {},
    }) {
      const parsed = parseTemplate(template, values);
      if (!parsed.ok) {
        const lines = parsed.problems.map(
          ({ line, column, message }) => `${file ?? "template"}:${line}:${column}: ${message}`,
        );
        throw new Error(`invalid template of ${name}:\n${lines.join("\n")}`);
      }
      const workflow = createWorkflow(`${namespace}/${name}`, parsed.template);
      board.add(workflow);
      return workflow;
    },
    workflows: () => board.all(),
    until: (condition, timeoutMs = UNTIL_TIMEOUT_MS) => untilWorkflows(board, condition, timeoutMs),
    dropConnections: (how = "destroy") => listener.dropConnections(how),
    stop: (how = "cut") => listener.stop(how),
    start: () => listener.start(),
    close,
    [Symbol.asyncDispose]: close,
  };
}
