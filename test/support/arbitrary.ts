import { array, constantFrom, dictionary, json, nat, oneof, string, tuple } from 'fast-check';

import { HOSTILE_VALUES } from './hostile-variables.ts';

const WORDS =
  '{ } ( ) [ ] : ! $ @ ... = | & query mutation fragment on pet pets id name first filter status SOLD true null 1 -1 1e9 "x" """y""" # \n \\ $v @skip @include if __typename __schema F'.split(
    ' ',
  );

// The unit `binary` of fast-check 4.10 takes a second to list all characters.
const character = nat(0x10ffff).map((code) => String.fromCodePoint(code));
const word = oneof(constantFrom(...WORDS), string({ unit: character, maxLength: 3 }));

/** POST bodies whose document is any sequence of words. */
export const arbitraryDocuments = array(word, { maxLength: 40 }).map((words) =>
  JSON.stringify({ query: words.join(' ') }),
);

const QUERY =
  'query ($a: PetFilter, $b: PetSort, $c: Int, $d: String, $e: [PetStatus!]) { pets(filter: $a, orderBy: $b, first: $c, after: $d) { totalCount } b: pets(filter: { status: $e }) { totalCount } }';

const MAX_CHARACTERS = 1000;
const hostile = HOSTILE_VALUES.filter((text) => text.length < MAX_CHARACTERS);

/** POST bodies with any variables for one valid query. */
export const arbitraryVariables = dictionary(
  constantFrom('a', 'b', 'c', 'd', 'e', '__proto__'),
  oneof(json(), constantFrom(...hostile)),
).map((variables) => {
  const fields = Object.entries(variables).map(([name, text]) => `"${name}":${text}`);
  return `{"query":${JSON.stringify(QUERY)},"variables":{${fields.join(',')}}}`;
});

const TARGET_PARTS =
  '/ pets graphql store orders ? & = % %2f .. 1 query limit {__typename} assets # ;'.split(' ');
const HEADERS = 'Accept If-None-Match Host Origin Content-Type Expect Range TE'.split(' ');

/** HTTP/1.1 requests with any target and headers, as text. */
export const arbitraryRequests = tuple(
  array(oneof(constantFrom(...TARGET_PARTS), string({ unit: 'grapheme-ascii', maxLength: 5 })), {
    maxLength: 12,
  }),
  dictionary(constantFrom(...HEADERS), string({ unit: 'grapheme-ascii', maxLength: 60 })),
).map(([parts, headers]) => {
  const lines = Object.entries({ Host: 'x', Connection: 'close', ...headers }).map(
    ([name, text]) => `${name}: ${text}\r\n`,
  );
  return `GET /${parts.join('')} HTTP/1.1\r\n${lines.join('')}\r\n`;
});
