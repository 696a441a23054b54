import { type Attack, unless } from "../attack.ts";
import { openForeignHost } from "../foreign-host.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "a template makes the action send its traces, with headers of the author's choice, to another host",
  holds: "the action is refused, and the other host is never contacted",
  async run(setting) {
    await using foreign = await openForeignHost();
    await using lab = await openLab({ setting });
    const { state } = await lab.run("node-1", {
      name: "power-status",
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: foreign.http.url,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${foreign.http.url}/any/path`,
        OTEL_EXPORTER_OTLP_HEADERS: "x-chosen=by-author",
        OTEL_TRACES_EXPORTER: "otlp",
      },
    });

    return [
      ...unless(foreign.contacts === 0, `the foreign host was contacted ${foreign.contacts} times`),
      ...unless(state === "FAILED", `not refused: ${state}`),
    ];
  },
};
