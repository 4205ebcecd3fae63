export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LINE = /^(\w+)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)$/;

/** Reads Prometheus' text format, strictly. */
export function parseMetrics(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const [, name = '', labels = '', value] = LINE.exec(line) ?? [];
    if (!name) throw new Error(`Not a sample: ${line}`);
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, label = '', escaped = '']) =>
        [label, escaped.replaceAll(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char))] as const,
    );
    return { name, labels: Object.fromEntries(pairs), value: Number(value) };
  });
}

export async function readMetrics({ url }: { url: string }): Promise<Sample[]> {
  const response = await fetch(`${url}/metrics`);
  if (response.status !== 200) throw new Error(`/metrics responds with ${response.status}.`);
  return parseMetrics(await response.text());
}

/** Returns the sum of all samples of a name that have these labels; 0 if there are none. */
export const sumOf = (
  samples: Sample[],
  name: string,
  labels: Record<string, string> = {},
): number =>
  samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([key, text]) => sample.labels[key] === text))
    .reduce((sum, { value }) => sum + value, 0);
