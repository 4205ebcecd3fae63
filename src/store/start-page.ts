import { readFileSync } from 'node:fs';

import type { Store } from '../gateway/index.ts';
import { ROOT } from './root.ts';

const FOLDER = new URL('src/store/pages/', ROOT);

const read = (file: string): string =>
  readFileSync(new URL(`start/${file}`, FOLDER), 'utf8').trimEnd();

/** Reads an operation and its result. */
const readExample = (name: string) => ({
  query: read(`${name}.graphql`),
  result: read(`${name}.json`),
});

/** The texts and examples that the pages show for the pet store. */
export const pages: Store['pages'] = {
  icon: read('icon.svg'),
  heading: 'One endpoint for the whole pet store',
  lead: `A GraphQL gateway for categories, pets, stock and orders. Ask for what you need, and get
exactly that, in one request.`,
  example: readExample('pets-in-stock'),
  mutation: readExample('order-pet'),
  subscription: read('follow-orders.graphql'),
  guide: new URL('dist/guide.json', ROOT),
  examples: new URL('examples/', FOLDER),
};
