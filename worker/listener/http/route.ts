import type { IncomingMessage, ServerResponse } from "node:http";

/** Handles one path. Only GET and HEAD arrive; Node removes the body of an answer to HEAD. */
export interface Route {
  /** The whole path, or a pattern for it. */
  readonly path: string | RegExp;
  /** Needs no authentication, as for health probes. */
  readonly open?: boolean;
  /** Ends the response. If it throws, the answer is 500 and the error is logged. `granted` is always true unless the route is open. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    granted: boolean,
  ): void | Promise<void>;
}
