/** What of Babel's syntax tree is read here. */
interface Node {
  readonly name?: string;
  readonly id?: Node;
  readonly callee?: Node;
  readonly expression?: Node;
  readonly object?: Node;
  readonly property?: Node;
}

/** Leaves out calls of `log`, `logOutage` and `observer`: they say what happens, and decide nothing. */
export const strykerPlugins = [
  {
    kind: "Ignore",
    name: "logs",
    value: {
      shouldIgnore: ({ node }: { readonly node: Node }) => (isMessage(node) ? "a message" : undefined),
    },
  },
];

/** Whether it is such a call, or a statement that is nothing else. */
function isMessage({ callee, expression }: Node): boolean {
  if (expression) return isMessage(expression);
  // `log` of `log`, `options.log` and `this.#log`.
  const on = callee?.object;
  const name = on?.name ?? on?.property?.name ?? on?.property?.id?.name;
  return name === "log" || name === "observer" || callee?.name === "logOutage";
}
