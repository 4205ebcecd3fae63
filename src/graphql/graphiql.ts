import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import etag from 'etag';

import { isUnchanged } from '../etag.ts';
import { EXAMPLES } from './examples.ts';

interface Page {
  readonly html: string;
  readonly zipped: Buffer;
  readonly etag: string;
}

// GraphiQL 5 leaves its tabs with a wrong offset until each was dragged once, so that the first click
// on one misses it.
const STYLE = '<style>.graphiql-tab { transform: none !important; }</style>';

const ACCEPTS_GZIP = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/;

/** GraphiQL as one page of 9 MB that needs nothing from elsewhere. */
async function renderPage(): Promise<Page> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL({
    title: 'Pet store',
    defaultTabs: EXAMPLES.map((query) => ({ query })),
  }).replace('</head>', `${STYLE}</head>`);
  return { html, zipped: await promisify(gzip)(html), etag: etag(html) };
}

/** Makes what answers a browser; the page is made when first asked for, then kept. */
export function createGraphiql(): (req: IncomingMessage, res: ServerResponse) => Promise<void> {
  let page: Promise<Page> | undefined;
  return async (request, response) => {
    page ??= renderPage();
    const { html, zipped, etag: tag } = await page;
    response.setHeader('ETag', tag);
    response.setHeader('Cache-Control', 'no-cache');
    response.setHeader('Vary', 'Accept, Accept-Encoding');
    if (isUnchanged(request.headers, tag)) {
      response.writeHead(304).end();
      return;
    }
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    if (ACCEPTS_GZIP.test(String(request.headers['accept-encoding']))) {
      response.setHeader('Content-Encoding', 'gzip').end(zipped);
    } else {
      response.end(html);
    }
  };
}
