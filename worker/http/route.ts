import type { IncomingMessage, ServerResponse } from "node:http";

/** What is served at one path. Only GET and HEAD arrive; a response to HEAD loses its body by itself. */
export interface Route {
  /** The whole path, or a pattern for it. */
  readonly path: string | RegExp;
  /** Ends the response. What it throws is answered with 500 and logged. */
  handle(request: IncomingMessage, response: ServerResponse, url: URL): void | Promise<void>;
}
