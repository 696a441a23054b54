import { join } from "node:path";
import type { FeatureDefinition } from "../feature.ts";

/** The pages for people. */
export const status: FeatureDefinition = {
  name: "status",
  isUsed: ({ http }) => http !== undefined,
  async open({ clock, log, state }) {
    const { openStatusPage } = await import("./status-page.ts");
    const { HistoryFile } = await import("./board/history-file.ts");
    const page = openStatusPage({ clock });
    const path = join(state.path, "history.json");
    const history = new HistoryFile({ path, board: page.board, clock, log });
    return {
      observer: page.observer,
      routes: (facts) => page.routes(facts),
      serve: () => history.open(),
      async flush({ stateLost }) {
        page.close();
        await history.close(!stateLost);
      },
    };
  },
};
