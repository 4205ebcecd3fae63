/** The label of all callers without a token, where tokens are used. */
export const ANONYMOUS = 'anonymous';
const OTHER = 'other';
const RESERVED = new Set([ANONYMOUS, OTHER, 'unknown', 'unnamed']);

/**
 * Creates a function that returns a name as the value of a label. It keeps at most `max` names that callers
 * choose, which bounds the memory and the size of /metrics: then a new name takes the place of the one that was
 * used longest ago, whose series `giveUp` must remove: they are never counted as those of another name. A name
 * with `isKept` is never given up; if all are kept, new ones are `other`.
 */
export function createCallerNames(max: number, giveUp: (name: string) => void) {
  const kept = new Set<string>();
  // The one that was used longest ago is the first.
  const recent = new Set<string>();
  return (name: string, isKept = false): string => {
    if (RESERVED.has(name) || kept.has(name)) return name;
    if (!recent.delete(name) && kept.size + recent.size >= max) {
      const [oldest] = recent;
      if (oldest === undefined) return OTHER;
      recent.delete(oldest);
      giveUp(oldest);
    }
    (isKept ? kept : recent).add(name);
    return name;
  };
}
