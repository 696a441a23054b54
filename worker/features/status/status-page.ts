import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Clock } from "../../../shared/clock.ts";
import { defined } from "../../../shared/defined.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { Route } from "../../listener/http/route.ts";
import { assetRoutes } from "./assets.ts";
import { Board, type BoardOptions } from "./board/board.ts";
import type { PageOptions } from "./board/page-options.ts";
import { EventStreams, STREAM_HEADERS } from "./event-streams.ts";
import { MOMENTARY_HEADERS } from "./headers.ts";
import { renderPage } from "./page.ts";
import { statusJson } from "./status-json.ts";
import { viewAt } from "./views/view-at.ts";

export interface StatusPage {
  readonly board: Board;
  readonly observer: Partial<Observer>;
  /** Needs the running worker. */
  routes(facts: PageOptions["facts"]): readonly Route[];
  /** Ends event streams. */
  close(): void;
}

export interface StatusPageOptions extends Pick<BoardOptions, "mostEnded" | "logBounds"> {
  readonly clock: Clock;
  /** The most event streams at a time. */
  readonly mostReaders?: number;
}

/** The status pages with their observer. Read-only. */
export function openStatusPage({ clock, mostReaders, ...bounds }: StatusPageOptions): StatusPage {
  const board = new Board({ clock, ...bounds });
  const begun = { begunMs: clock.monotonicMs(), begunAt: new Date(clock.now()) };
  const boot = randomUUID().slice(0, 8);
  const opened: EventStreams[] = [];
  return {
    board,
    observer: board.observer,
    routes(facts) {
      board.know(() => facts.machines());
      const options: PageOptions = { board, facts, clock, ...begun };
      const streams = new EventStreams({
        board,
        clock,
        boot,
        viewAt: (url) => viewAt(url, options),
        ...defined({ mostReaders }),
      });
      opened.push(streams);
      return [...assetRoutes, ...pageRoutes(options, streams)];
    },
    close() {
      for (const streams of opened) streams.close();
    },
  };
}

/** The pages for people. */
const PAGES = /^\/(?:machines|actions|lanes|(?:actions|machines)\/[^/]+|workflows\/.+)?$/;

function pageRoutes(options: PageOptions, streams: EventStreams): readonly Route[] {
  return [
    {
      path: PAGES,
      handle(_request, response, url) {
        const view = viewAt(url, options);
        send(response, view.status, "text/html", renderPage(view, url, streams.seen, options));
      },
    },
    {
      path: "/status.json",
      handle: (_request, response) =>
        send(response, 200, "application/json", `${JSON.stringify(statusJson(options))}\n`),
    },
    {
      path: "/events",
      handle(request, response, url) {
        const page = pageOf(url);
        if (!page) {
          send(response, 400, "text/plain", "of must be the path of a page\n");
          return;
        }
        if (request.method === "HEAD") {
          response.writeHead(200, STREAM_HEADERS).end();
          return;
        }
        const seen = request.headers["last-event-id"];
        streams.open(
          response,
          page,
          typeof seen === "string" ? seen : (url.searchParams.get("seen") ?? undefined),
        );
      },
    },
  ];
}

/** The page that a stream updates; undefined if there is no such page. */
function pageOf({ searchParams }: URL): URL | undefined {
  const address = searchParams.get("of") ?? "/";
  const page = address.startsWith("/") ? URL.parse(`http://localhost${address}`) : null;
  return page && PAGES.test(page.pathname) ? page : undefined;
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  const headers = { "Content-Type": `${type}; charset=utf-8`, "Content-Length": Buffer.byteLength(text) };
  response.writeHead(status, { ...MOMENTARY_HEADERS, ...headers });
  response.end(text);
}
