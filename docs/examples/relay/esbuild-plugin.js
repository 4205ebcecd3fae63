import { readFile } from 'node:fs/promises';

const TAG = /graphql`\s*(?:query|mutation|subscription|fragment) (\w+)[^`]*`/g;

/** Replaces each document with the artifact that the compiler generated, as `babel-plugin-relay` does. */
export const relay = {
  name: 'relay',
  setup: (compilation) => {
    compilation.onLoad({ filter: /\/relay\/[\w-]+\.tsx?$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const contents = source.replaceAll(
        TAG,
        (_tag, name) => `require('./__generated__/${name}.graphql.ts').default`,
      );
      return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts' };
    });
  },
};
