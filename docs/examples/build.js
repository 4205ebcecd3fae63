import { build } from 'esbuild';

import { relay } from './relay/esbuild-plugin.js';

await build({
  entryPoints: {
    apollo: 'apollo/shop.tsx',
    relay: 'relay/shop.tsx',
    tanstack: 'tanstack/shop.ts',
    urql: 'urql/shop.tsx',
  },
  outdir: 'dist',
  bundle: true,
  minify: true,
  format: 'esm',
  define: { 'process.env.NODE_ENV': '"production"' },
  plugins: [relay],
});
