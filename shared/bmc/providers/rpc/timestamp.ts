const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const two = (value: number) => String(value).padStart(2, "0");
const hour12 = (time: Date) => time.getUTCHours() % 12 || 12;
const nameIn = (names: readonly string[], index: number) => names[index] ?? "";

/** The format of each element of a layout. The time is UTC, so an offset is `Z` or zero. */
const ELEMENTS: Readonly<Record<string, (time: Date) => string>> = {
  January: (time) => nameIn(MONTHS, time.getUTCMonth()),
  Jan: (time) => nameIn(MONTHS, time.getUTCMonth()).slice(0, 3),
  Monday: (time) => nameIn(DAYS, time.getUTCDay()),
  Mon: (time) => nameIn(DAYS, time.getUTCDay()).slice(0, 3),
  "2006": (time) => String(time.getUTCFullYear()).padStart(4, "0"),
  "06": (time) => two(time.getUTCFullYear() % 100),
  "01": (time) => two(time.getUTCMonth() + 1),
  "1": (time) => String(time.getUTCMonth() + 1),
  "02": (time) => two(time.getUTCDate()),
  _2: (time) => String(time.getUTCDate()).padStart(2, " "),
  "2": (time) => String(time.getUTCDate()),
  "15": (time) => two(time.getUTCHours()),
  "03": (time) => two(hour12(time)),
  "3": (time) => String(hour12(time)),
  "04": (time) => two(time.getUTCMinutes()),
  "4": (time) => String(time.getUTCMinutes()),
  "05": (time) => two(time.getUTCSeconds()),
  "5": (time) => String(time.getUTCSeconds()),
  PM: (time) => (time.getUTCHours() < 12 ? "AM" : "PM"),
  pm: (time) => (time.getUTCHours() < 12 ? "am" : "pm"),
  MST: () => "UTC",
  "Z07:00": () => "Z",
  Z0700: () => "Z",
  "-07:00": () => "+00:00",
  "-0700": () => "+0000",
  "-07": () => "+00",
};

const FRACTION = /^([.,])(0+|9+)(?!\d)/;
const LONGEST_FIRST = Object.keys(ELEMENTS).toSorted((a, b) => b.length - a.length);

/**
 * Formats a time in UTC with a layout of Go's time package, which bmclib and Rufio use to configure the time stamp. The
 * layout is the notation of the moment 2006-01-02 15:04:05. Other text is copied.
 */
export function formatTimestamp(layout: string, ms: number): string {
  const time = new Date(ms);
  let text = "";
  for (let rest = layout; rest !== ""; ) {
    const fraction = FRACTION.exec(rest);
    const element = LONGEST_FIRST.find((name) => rest.startsWith(name));
    if (fraction) {
      text += formatFraction(fraction, time);
      rest = rest.slice(fraction[0].length);
    } else if (element !== undefined) {
      text += ELEMENTS[element]?.(time) ?? "";
      rest = rest.slice(element.length);
    } else {
      text += rest.slice(0, 1);
      rest = rest.slice(1);
    }
  }
  return text;
}

/**
 * Formats a fraction of a second. Zeros keep their places; nines drop trailing zeros and, if all are dropped, the separator.
 */
function formatFraction([, separator = ".", digits = ""]: RegExpExecArray, time: Date): string {
  const nanoseconds = `${String(time.getUTCMilliseconds()).padStart(3, "0")}000000`;
  const places = nanoseconds.slice(0, digits.length);
  if (digits.startsWith("0")) return `${separator}${places.padEnd(digits.length, "0")}`;
  const trimmed = places.replace(/0+$/, "");
  return trimmed === "" ? "" : `${separator}${trimmed}`;
}
