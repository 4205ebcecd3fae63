/** Breaks JSON into lines. Works on the text, because parsing would change ids greater than 2^53. */
function toLines(json) {
  let depth = 0;
  const lineBreak = () => `\n${'  '.repeat(depth)}`;
  return json.replaceAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g, (token) => {
    if (token === ':') return ': ';
    if (token === ',') return token + lineBreak();
    if (/[{[]/.test(token[0])) {
      depth += 1;
      return token + lineBreak();
    }
    if (!/[}\]]/.test(token[0])) return token;
    depth -= 1;
    return lineBreak() + token;
  });
}

/** Swagger UI parses the JSON of a response, unless it has another type. */
const exactResponses = {
  wrapComponents: {
    responseBody:
      (ResponseBody, { React }) =>
      (props) =>
        React.createElement(ResponseBody, {
          ...props,
          content: toLines(props.content),
          contentType: 'text/plain',
        }),
  },
};

/** Offers no requests for operations with x-hideTryItPanel. */
const hiddenPanels = {
  statePlugins: {
    spec: {
      wrapSelectors: {
        allowTryItOutFor:
          (allows, { specSelectors }) =>
          (state, path, method) =>
            allows(state, path, method) &&
            !specSelectors.specJson().getIn(['paths', path, method, 'x-hideTryItPanel']),
      },
    },
  },
};

/** Adds a landmark, a heading and names that are missing, and makes no path a link, because each is inside a button. */
const accessibleParts = {
  wrapComponents: {
    InfoContainer:
      (Info, { React }) =>
      (props) =>
        React.createElement('section', { 'aria-label': 'About' }, React.createElement(Info, props)),
    operations:
      (Operations, { React }) =>
      (props) => [
        React.createElement('h2', { key: 'heading' }, 'Routes'),
        React.createElement(Operations, { ...props, key: 'operations' }),
      ],
    responses:
      (Responses, { React }) =>
      (props) =>
        React.createElement(
          'div',
          {
            ref: (part) =>
              part
                ?.querySelector('[role="region"]')
                ?.setAttribute('aria-label', `Responses of ${props.path}`),
          },
          React.createElement(Responses, props),
        ),
    DeepLink:
      (DeepLink, { React }) =>
      (props) =>
        React.createElement(DeepLink, { ...props, enabled: false }),
  },
};

const darkMode = window.matchMedia('(prefers-color-scheme: dark)');
const setMode = () => document.documentElement.classList.toggle('dark-mode', darkMode.matches);
darkMode.addEventListener('change', setMode);
setMode();

window.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  showExtensions: true,
  validatorUrl: null,
  plugins: [exactResponses, hiddenPanels, accessibleParts],
});
