import escapeHtml from 'escape-html';

/** Renders a titled block of code, which is given as HTML. The page's script colours the code and adds a copy button. */
export const renderBlock = (title: string, html: string): string =>
  `<figure class="code"><figcaption>${escapeHtml(title)}</figcaption>
<pre tabindex="0" role="group" aria-label="${escapeHtml(title)}">${html}</pre></figure>`;

export const renderCode = (title: string, code: string): string =>
  renderBlock(title, escapeHtml(code));

/** Renders text that is also in the OpenAPI document. Its only Markdown is inline code. */
export const renderText = (text: string): string =>
  escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\d{4}-\d\d-\d\d/g, '<time>$&</time>');
