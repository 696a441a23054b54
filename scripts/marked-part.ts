export const END = "<!-- end of the generated part -->";

/** The page with the part between the marks replaced. Throws when it lacks the marks. */
export function refreshBetweenMarks(page: string, startMark: string, part: string): string {
  const start = page.indexOf(startMark);
  const end = page.indexOf(END, start);
  if (start < 0 || end < 0) throw new Error(`the page lacks the marks ${startMark} and ${END}`);
  return `${page.slice(0, start)}${startMark}\n\n${part}\n\n${page.slice(end)}`;
}
