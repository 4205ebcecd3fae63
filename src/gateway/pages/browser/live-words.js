/** The words of a store that has none of its own. */
export const FIELDS = 'fragment Words on Change { kind }';
export const toWords = () => undefined;
