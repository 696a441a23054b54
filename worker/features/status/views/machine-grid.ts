import { type Html, html } from "./html.ts";
import { type ShownMachine, STATE_LETTERS } from "./machine-states.ts";
import { moreSection } from "./parts.ts";
import { countSection, type Row, renderRows, rowId, type Section } from "./view.ts";

/** From so many on, cells have only the letter. */
const DENSE_FROM = 200;

/** One cell per machine: a letter and a colour for its state. */
export interface Grid {
  readonly cells: Section;
  readonly count: Section;
  readonly more: Section;
  readonly isDense: boolean;
}

export function machineGrid(machines: readonly ShownMachine[], all: number, more: Html | undefined): Grid {
  return {
    cells: { id: "machines", rows: machines.map(cell) },
    count: countSection("machines-count", all),
    more: moreSection("machines", more),
    isDense: machines.length >= DENSE_FROM,
  };
}

function cell({ name, record, last, state }: ShownMachine): Row {
  const id = rowId(name);
  return {
    id,
    version: String(record?.revision ?? 0),
    render() {
      const failed = state === "failed" && last?.class !== undefined && ` (${last.class})`;
      const power = record?.power && state !== record.power.state && `, ${record.power.state}`;
      return html`<li data-row="${id}"><a class="${state}" href="/machines/${encodeURIComponent(name)}" title="${name}: ${state}${failed}${power}"><b>${STATE_LETTERS[state]}</b> <span>${name}</span></a></li>`;
    },
  };
}

/** `controls` filter and sort it. */
export function renderGrid({ cells, count, more, isDense }: Grid, controls: Html): Html {
  return html`<section id="machines" aria-labelledby="machines-heading">
<div class="controls"><h2 id="machines-heading">Machines <span class="count" data-section="${count.id}">${renderRows(count)}</span></h2>
${controls}</div>
<ul class="grid${isDense && " dense"}" aria-labelledby="machines-heading" data-section="${cells.id}">${renderRows(cells)}</ul>
<p class="none dim">None.</p>
<div data-section="${more.id}">${renderRows(more)}</div>
</section>`;
}
