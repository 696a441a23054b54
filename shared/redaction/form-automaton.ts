/** A text to find, and the number of its first characters that reveals too much. */
export interface Form {
  readonly text: string;
  /** Number of first characters that reveal too much anywhere. */
  readonly tellingPart: number;
  /** Number of first characters that reveal too much at the end of a line: the rest may be on the next line. */
  readonly tellingEnd: number;
  /** Lengths of beginnings that may fill a line of their own if the text is written as it is. */
  readonly ownLines?: readonly number[];
}

/** Where the text was cut, fewer characters show that a form begins there. */
const TELLING_CUT = 4;
const ROOT = 0;

/** The lower-case letters of scripts with two cases, by code. */
const SMALL_LETTERS = Uint16Array.from({ length: 0x590 }, (_, code) => {
  const small = String.fromCharCode(code).toLowerCase();
  return small.length === 1 ? small.charCodeAt(0) : code;
});

function smallLetter(code: number): number {
  return SMALL_LETTERS[code] ?? code;
}

/** Receives a match: the index of its last code and its length. It may begin in an earlier piece of text. */
export type OnFound = (lastIndex: number, length: number) => void;

/**
 * Finds forms and beginnings of forms in one pass over any text (Aho and Corasick, 1975): the state is the longest end of
 * the text so far that a form begins with. Ignores case, because text in another case still reveals a secret. Continues
 * from one piece of text to the next.
 */
export class FormAutomaton {
  readonly #code: number[] = [0];
  readonly #firstChild: number[] = [0];
  readonly #sibling: number[] = [0];
  readonly #depth: number[] = [0];
  readonly #fallback: number[] = [0];
  /** The length of the longest form that ends here. */
  readonly #found: number[] = [0];
  readonly #tellingPart: boolean[] = [false];
  readonly #tellingEnd: boolean[] = [false];
  /** Whether a form may begin with a code, by the low byte of the code. */
  readonly #mayBegin = new Uint8Array(256);

  constructor(forms: readonly Form[]) {
    for (const form of forms) this.#add(form);
    this.#connect();
  }

  get isEmpty(): boolean {
    return this.#code.length === 1;
  }

  /** Returns the state at the end. `isCut` marks codes that replace omitted text. */
  scan(codes: Uint16Array, state: number, isCut: (index: number) => boolean, onFound: OnFound): number {
    let at = state;
    for (let index = 0; index < codes.length; index += 1) {
      const code = smallLetter(codes[index] ?? 0);
      if (at === ROOT && this.#mayBegin[code & 0xff] === 0) continue;
      let next = this.#child(at, code);
      if (next === ROOT && at !== ROOT) {
        // Fall back to a shorter part that ends here.
        const length = this.#depth[at] ?? 0;
        if (this.#tellingPart[at] || (length >= TELLING_CUT && isCut(index))) onFound(index - 1, length);
        while (next === ROOT && at !== ROOT) {
          at = this.#fallback[at] ?? ROOT;
          next = this.#child(at, code);
        }
      }
      at = next;
      const found = this.#found[at] ?? 0;
      if (found > 0) onFound(index, found);
    }
    return at;
  }

  /** Returns how many of the last codes must not be shown, because a form may begin with them. */
  tellingEnd(state: number, wasCut: boolean): number {
    const length = this.#depth[state] ?? 0;
    return this.#tellingEnd[state] || (wasCut && length >= TELLING_CUT) ? length : 0;
  }

  #child(state: number, code: number): number {
    let child = this.#firstChild[state] ?? 0;
    while (child !== 0 && this.#code[child] !== code) child = this.#sibling[child] ?? 0;
    return child;
  }

  #add({ text, tellingPart, tellingEnd, ownLines = [] }: Form): void {
    let state = ROOT;
    const ends = new Set(ownLines.filter((length) => length >= TELLING_CUT));
    for (let index = 0; index < text.length; index += 1) {
      const code = smallLetter(text.charCodeAt(index));
      state = this.#child(state, code) || this.#grow(state, code);
      if (index + 1 >= tellingPart) this.#tellingPart[state] = true;
      if (index + 1 >= tellingEnd || ends.has(index + 1)) this.#tellingEnd[state] = true;
    }
    if (state === ROOT) return;
    this.#found[state] = text.length;
    this.#mayBegin[smallLetter(text.charCodeAt(0)) & 0xff] = 1;
  }

  #grow(parent: number, code: number): number {
    const state = this.#code.length;
    this.#code.push(code);
    this.#firstChild.push(0);
    this.#sibling.push(this.#firstChild[parent] ?? 0);
    this.#firstChild[parent] = state;
    this.#depth.push((this.#depth[parent] ?? 0) + 1);
    this.#fallback.push(ROOT);
    this.#found.push(0);
    this.#tellingPart.push(false);
    this.#tellingEnd.push(false);
    return state;
  }

  /**
   * Sets where to continue when a state has no transition. Works breadth first, so that shorter suffixes are known before
   * longer ones.
   */
  #connect(): void {
    const queue = [ROOT];
    for (const parent of queue) {
      for (let child = this.#firstChild[parent] ?? 0; child !== 0; child = this.#sibling[child] ?? 0) {
        queue.push(child);
        if (parent === ROOT) continue;
        const code = this.#code[child] ?? 0;
        let fallback = this.#fallback[parent] ?? ROOT;
        while (fallback !== ROOT && this.#child(fallback, code) === 0)
          fallback = this.#fallback[fallback] ?? ROOT;
        const end = this.#child(fallback, code);
        this.#fallback[child] = end;
        if ((this.#found[child] ?? 0) === 0) this.#found[child] = this.#found[end] ?? 0;
      }
    }
  }
}
