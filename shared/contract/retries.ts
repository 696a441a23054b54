/** The variable with which a template asks an action to repeat itself. The policy limits it, the action obeys it. */
export const RETRIES = "RETRIES";

/** The upper limit of every policy. With the waits, this many attempts take at least seven minutes. */
export const MOST_RETRIES = 10;
