/**
 * A filter of times up to and including `time`, for sweeps. It has a lower bound because with an upper bound alone, DocumentDB reads and sorts the whole
 * collection instead of the partial index of these times.
 */
export const dueUntil = (time: Date): { $gte: Date; $lte: Date } => ({ $gte: new Date(0), $lte: time });
