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

const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'M-SEARCH'];
const TARGET_PARTS =
  '/ / pets graphql store orders ? & = % %2f %252e %zz %ff %0d%0aA:b .. 1 query variables {"__proto__":1} limit [] {__typename} mutation{deletePet(id:1){__typename}} operationName __proto__ hasOwnProperty assets # ; ä * http://[::1 http://evil.example @ --'.split(
    ' ',
  );
const HEADERS =
  'Accept If-None-Match Host Origin Content-Type Expect Range TE Upgrade X-Forwarded-Host X-Forwarded-For X-Request-Id traceparent apollographql-client-name __proto__'.split(
    ' ',
  );
const HEADER_VALUES = [
  'text/event-stream',
  'multipart/mixed;deferSpec=20220824',
  'text/html;q=1e999,*/*;q=-1',
  'h2c',
  'websocket',
  '[::1',
  'user@evil.example/pets?',
  'https://evil.example\t',
  '00-0-0-00',
  '"} 1\\n',
  '127.0.0.1, '.repeat(1000),
];

/** HTTP/1.1 requests with any target and headers, as text. */
export const arbitraryRequests = tuple(
  constantFrom(...METHODS),
  constantFrom('/', '/', '/pets/', '/store/orders?', '/graphql?', '//', ''),
  array(oneof(constantFrom(...TARGET_PARTS), string({ unit: 'grapheme-ascii', maxLength: 5 })), {
    maxLength: 12,
  }),
  dictionary(
    constantFrom(...HEADERS),
    oneof(constantFrom(...HEADER_VALUES), string({ unit: 'grapheme-ascii', maxLength: 60 })),
  ),
).map(([method, start, parts, headers]) => {
  const lines = Object.entries({ Host: 'x', Connection: 'close', ...headers }).map(
    ([name, text]) => `${name}: ${text}\r\n`,
  );
  return `${method} ${start}${parts.join('')} HTTP/1.1\r\n${lines.join('')}\r\n`;
});
