import type { Config } from '../config/config.ts';
import type { Asset } from '../http/static-asset.ts';

/** What is shown to people of what can be hidden from them. */
export type VisiblePages = Pick<Config, 'graphiql' | 'introspection'>;

const LINKS: readonly (readonly [url: string, text: string, shownBy?: keyof VisiblePages])[] = [
  ['/graphql', 'GraphiQL', 'graphiql'],
  ['/docs', 'REST reference'],
  ['/docs/moving', 'Moving to GraphQL'],
  ['/schema.graphql', 'GraphQL schema', 'introspection'],
];

/** The links to all pages that are shown. */
const renderLinks = (shown: VisiblePages): string =>
  LINKS.filter(([, , shownBy]) => !shownBy || shown[shownBy])
    .map(([url, text]) => `<a href="${url}">${text}</a>`)
    .join('\n');

// Nothing but what this server sends, and no script in a page itself.
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

interface HtmlDocument {
  readonly title: string;
  readonly body: string;
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  /** What the page needs beyond POLICY. */
  readonly policy?: Readonly<Record<string, string>>;
}

/** An HTML document, with a Content-Security-Policy that lets it have what it needs and no more. */
export const renderHtml = ({ title, body, styles, scripts, policy }: HtmlDocument): Asset => ({
  type: 'text/html; charset=utf-8',
  headers: {
    'Content-Security-Policy': Object.entries({ ...POLICY, ...policy })
      .map(([directive, sources]) => `${directive} ${sources}`)
      .join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    // For browsers that don't know frame-ancestors.
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
  },
  content: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${styles.map((url) => `<link rel="stylesheet" href="${url}">`).join('\n')}
</head>
<body>
${body}
${scripts.map((url) => `<script src="${url}"></script>`).join('\n')}
</body>
</html>
`,
});

interface HtmlPage {
  readonly title: string;
  /** What stands in `main`, as HTML. */
  readonly main: string;
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
}

/** A page for people, with the links to all others. */
export const renderPage = (
  shown: VisiblePages,
  { title, main, styles = [], scripts = [] }: HtmlPage,
): Asset =>
  renderHtml({
    title,
    styles: [...styles, '/assets/page.css'],
    scripts,
    body: `<header>
<a class="name" href="/">Pet store</a>
<nav aria-label="Pages">${renderLinks(shown)}</nav>
</header>
<main>
${main}
</main>`,
  });
