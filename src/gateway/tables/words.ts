/** What the rows of a table are called in descriptions. */
export interface Words {
  /** `a book` */
  readonly one: string;
  /** `book` */
  readonly short: string;
  /** `books` */
  readonly all: string;
  /** The same where it stands alone. */
  readonly list: string;
  /** What changes. */
  readonly changes: string;
  /** Whose id is the primary key. */
  readonly idOf: string;
  /** How the names of its lists and of its subscription begin: `Book`. */
  readonly prefix: string;
}

const splitWords = (name: string): string[] => name.split(/(?<=.)(?=[A-Z])/);

/** Returns a name as it is in an enum: BOOK_SHELF for bookShelf. */
export const toEnumName = (name: string): string => splitWords(name).join('_').toUpperCase();

/** Returns a name as it is in a sentence: book shelf for bookShelf. */
export const toWord = (name: string): string => splitWords(name).join(' ').toLowerCase();

export const lowerFirst = (text: string): string => `${text[0]?.toLowerCase()}${text.slice(1)}`;
export const upperFirst = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`;

/** Completes the words for the rows of a table by the names of its type and of the table. */
export function toWords(
  { type, name }: { readonly type: string; readonly name: string },
  given: Partial<Words>,
): Words {
  const { short = toWord(type), all = name } = given;
  const one = `${/^[aeiou]/.test(short) ? 'an' : 'a'} ${short}`;
  return { one, short, all, list: all, changes: all, idOf: short, prefix: type, ...given };
}
