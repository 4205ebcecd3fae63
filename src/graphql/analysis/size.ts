/** Whether a value of JSON takes more than so many bytes in UTF-8; it is read only as far as they go. */
export function isLargerThan(value: unknown, maxBytes: number): boolean {
  let left = maxBytes;
  // An answer has each key, and can have a long text, many times.
  const bytesOf = new Map<string, number>();
  const takeText = (text: string): void => {
    const bytes = bytesOf.get(text) ?? Buffer.byteLength(JSON.stringify(text));
    bytesOf.set(text, bytes);
    left -= bytes;
  };
  const take = (part: unknown): void => {
    if (typeof part === 'string') return takeText(part);
    if (typeof part !== 'object' || part === null) {
      left -= String(part).length;
      return;
    }
    const entries = Object.entries(part);
    // Brackets, and commas between.
    left -= Math.max(2, entries.length + 1);
    for (const [key, inner] of entries) {
      if (left < 0) return;
      if (!Array.isArray(part)) {
        takeText(key);
        // The colon.
        left -= 1;
      }
      take(inner);
    }
  };
  take(value);
  return left < 0;
}
