/** Joins so many texts with blanks between them. */
export const repeat = (count: number, toText: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => toText(index)).join(' ');
