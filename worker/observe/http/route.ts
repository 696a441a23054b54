import type { IncomingMessage, ServerResponse } from "node:http";

/** What is served at one path. Only GET and HEAD arrive; a response to HEAD loses its body by itself. */
export interface Route {
  /** The whole path, or a pattern for it. */
  readonly path: string | RegExp;
  /** Health probes are open: they come without credentials. Every other route is for granted visitors alone. */
  readonly open?: boolean;
  /** Ends the response. What it throws is answered with 500 and logged. `granted` is always true unless the route is open. */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    granted: boolean,
  ): void | Promise<void>;
}
