import type { IncomingMessage, ServerResponse } from "node:http";

/** The handler of one path. Only GET and HEAD arrive; Node removes the body of an answer to HEAD. */
export interface Route {
  /** The whole path, or a pattern for it. */
  readonly path: string | RegExp;
  /** Set if the route needs no authentication, for health probes. */
  readonly open?: boolean;
  /**
   * Answers a request and ends the response. If it throws, the answer is 500 and the error is logged. `granted` is false
   * only for unauthenticated visitors of an open route.
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    granted: boolean,
  ): void | Promise<void>;
}
