import { join } from "node:path";
import type { FeatureDefinition } from "../feature.ts";

/** Serves the status pages. */
export const status = {
  name: "status",
  isUsed: ({ http }) => http !== undefined,
  async open({ clock, log, process: { state } }) {
    const { Board } = await import("./board/board.ts");
    const { HistoryFile } = await import("./history-file.ts");
    const { StatusPage } = await import("./status-page.ts");
    const board = new Board(clock);
    const page = new StatusPage(board, clock);
    const history = new HistoryFile(join(state.path, "history.json"), board, clock, log);
    return [
      { kind: "observer", observer: board.observer },
      { kind: "routes", routes: (facts) => page.routes(facts) },
      {
        kind: "recorder",
        serve: () => history.open(),
        async flush({ stateLost }) {
          page.close();
          await history.close(!stateLost);
        },
      },
    ];
  },
} satisfies FeatureDefinition;
