import type { Config } from '../config/config.ts';
import type { Asset } from '../http/static-asset.ts';

/** The pages that the operator can hide. */
export type VisiblePages = Pick<Config, 'graphiql' | 'introspection'>;

const LINKS: readonly (readonly [url: string, text: string, option?: keyof VisiblePages])[] = [
  ['/graphql', 'GraphiQL', 'graphiql'],
  ['/docs', 'REST reference'],
  ['/docs/moving', 'Moving to GraphQL'],
  ['/schema.graphql', 'GraphQL schema', 'introspection'],
];

/** The links to all visible pages. */
const renderLinks = (visible: VisiblePages): string =>
  LINKS.filter(([, , option]) => !option || visible[option])
    .map(([url, text]) => `<a href="${url}">${text}</a>`)
    .join('\n');

// Only resources of this server, and no inline scripts.
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
  /** Directives that replace those of POLICY. */
  readonly policy?: Readonly<Record<string, string>>;
}

/** Renders an HTML document with a Content-Security-Policy. */
export const renderHtml = ({ title, body, styles, scripts, policy }: HtmlDocument): Asset => ({
  type: 'text/html; charset=utf-8',
  headers: {
    'Content-Security-Policy': Object.entries({ ...POLICY, ...policy })
      .map(([directive, sources]) => `${directive} ${sources}`)
      .join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    // For browsers that do not support frame-ancestors.
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
  /** The content of `main`, as HTML. */
  readonly main: string;
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
}

/** Renders a page with the links to all other pages. */
export const renderPage = (
  visible: VisiblePages,
  { title, main, styles = [], scripts = [] }: HtmlPage,
): Asset =>
  renderHtml({
    title,
    styles: [...styles, '/assets/page.css'],
    scripts,
    body: `<header>
<a class="name" href="/">Pet store</a>
<nav aria-label="Pages">${renderLinks(visible)}</nav>
</header>
<main>
${main}
</main>`,
  });
