/** The variable with which a template asks an action to retry. The policy limits it, and the action follows it. */
export const RETRIES = "RETRIES";

/** The upper limit of every policy. With the pauses, this many attempts take at least seven minutes. */
export const MOST_RETRIES = 10;
