import { expect, it } from 'vitest';

import { findRoot } from '../../src/store/root.ts';

it("the project's folder has to contain a package.json", () => {
  expect(() => findRoot(new URL('file:///none/'))).toThrow('has a package.json');
});
