import type { Clock } from "../../../shared/clock.ts";
import type { Route } from "../../listener/http/route.ts";
import type { WorkerFacts } from "../shared/facts.ts";
import { assetRoutes } from "./assets.ts";
import type { Board } from "./board/board.ts";
import { EventStreams, STREAM_HEADERS } from "./event-streams.ts";
import { send } from "./headers.ts";
import { PAGES, renderPage, viewAt } from "./page.ts";
import { statusJson } from "./status-json.ts";
import type { Sources } from "./views/view.ts";

/** The status pages of a board. Read-only. */
export class StatusPage {
  readonly #clock: Clock;
  readonly #streams: EventStreams;
  readonly #board: Board;

  constructor(board: Board, clock: Clock, mostReaders?: number) {
    this.#board = board;
    this.#clock = clock;
    this.#streams = new EventStreams(board, clock, mostReaders);
  }

  /** The routes of the pages; they need the running worker. */
  routes(facts: WorkerFacts): readonly Route[] {
    const [board, clock, streams] = [this.#board, this.#clock, this.#streams];
    board.know(() => facts.machines());
    const begun = { begunMs: clock.monotonicMs(), begunAt: new Date(clock.now()) };
    const sources: Sources = { board, facts, clock, ...begun };
    return [
      ...assetRoutes,
      {
        path: PAGES,
        handle(_request, response, url) {
          const view = viewAt(url, sources);
          send(response, view.status, "text/html", renderPage(view, url, streams.seen, sources));
        },
      },
      {
        path: "/status.json",
        handle: (_request, response) =>
          send(response, 200, "application/json", `${JSON.stringify(statusJson(sources))}\n`),
      },
      {
        path: "/events",
        handle({ method, headers }, response, { searchParams }) {
          const page = pageOf(searchParams.get("of") ?? "/");
          const seen = headers["last-event-id"] ?? searchParams.get("seen");
          if (!page) send(response, 400, "text/plain", "of must be the path of a page\n");
          else if (method === "HEAD") response.writeHead(200, STREAM_HEADERS).end();
          else streams.open(response, page.href, () => viewAt(page, sources), seen);
        },
      },
    ];
  }

  /** Ends event streams. */
  close(): void {
    this.#streams.close();
  }
}

/** The page that a stream updates; undefined if there is no such page. */
function pageOf(address: string): URL | undefined {
  const page = address.startsWith("/") ? URL.parse(`http://localhost${address}`) : null;
  return page && PAGES.test(page.pathname) ? page : undefined;
}
