export const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  ID: ['1', '2', '3', 4, '5'],
  Int: [0, 1, 2, 3, 5, 20],
  Boolean: [true, false],
  String: ['a', 'Cleo', 'Rex', 'some'],
  DateTime: [
    '2027-01-02T03:04:05+02:00',
    '2027-01-02T03:04:05Z',
    '2027-01-02T03:04:05.006Z',
    '9999-12-31T23:59:59Z',
  ],
  Date: ['2027-01-02', '2024-02-29', '0001-01-01', '9999-12-31'],
};
