/** The words for a table's rows in descriptions and names. */
export interface Words {
  /** `book` */
  readonly singular: string;
  /** `a book` */
  readonly aSingular: string;
  /** `books` */
  readonly plural: string;
  /** The noun in "The id of the …". */
  readonly idOf: string;
  /** The prefix of the names of the lists and the subscription: `Book`. */
  readonly prefix: string;
}

const splitWords = (name: string): string[] => name.split(/(?<=.)(?=[A-Z])/);

/** Returns a name in the form of an enum value: BOOK_SHELF for bookShelf. */
export const toEnumName = (name: string): string => splitWords(name).join('_').toUpperCase();

/** Returns a name in the form used in sentences: book shelf for bookShelf. */
export const toWord = (name: string): string => splitWords(name).join(' ').toLowerCase();

/** Returns the name of a table in the form used in sentences: book shelves for book_shelves. */
export const toPlural = (table: string): string => table.replaceAll('_', ' ');

export const lowerFirst = (text: string): string => `${text[0]?.toLowerCase()}${text.slice(1)}`;
export const upperFirst = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`;

/** Returns words as the name of a field: bookShelf for book shelf. */
export const toFieldName = (words: string): string =>
  lowerFirst(words.replaceAll(/ (.)/g, (_match, letter: string) => letter.toUpperCase()));

/** Completes a table's words from the names of its type and the table. */
export function toWords(
  { type, name }: { readonly type: string; readonly name: string },
  chosen: Partial<Words>,
): Words {
  const { singular = toWord(type) } = chosen;
  const aSingular = `${/^[aeiou]/.test(singular) ? 'an' : 'a'} ${singular}`;
  return { singular, aSingular, plural: toPlural(name), idOf: singular, prefix: type, ...chosen };
}
