import { expect, test } from 'vitest';
import { parseScheduleFile, printScheduleProblem } from './parse-schedule-file.ts';

function problems(text: string): readonly string[] {
  const parsed = parseScheduleFile(text, 's.yaml');
  return parsed.kind === 'ok' ? [] : parsed.problems.map(printScheduleProblem);
}

const ONE = (line: string, rest = 'urls: [https://a.test/]\n    cron: 0 2 * * *\n    name: n'): string =>
  `schedules:\n  - ${line}\n    ${rest}\n`;

test('reads a whole schedule, and what it leaves out', () => {
  const parsed = parseScheduleFile(
    `schedules:
  - name: nightly
    cron: 30 2 * * 1-5
    zone: Europe/Berlin
    list: lists/{date}.txt
    retry_tokens: 200
    deadline: 1h30m
    owner: data team
    approve: true
    overlap: queue
    missed: skip
  - name: hourly
    cron: 0 * * * *
    urls: ['https://a.test/export/{date}.json']
`,
    's.yaml',
  );
  expect(parsed).toEqual({
    kind: 'ok',
    schedules: [
      {
        name: 'nightly',
        cron: '30 2 * * 1-5',
        zone: 'Europe/Berlin',
        list: 'lists/{date}.txt',
        retry_tokens: 200,
        deadline: 5_400_000,
        owner: 'data team',
        approve: true,
        overlap: 'queue',
        missed: 'skip',
      },
      {
        name: 'hourly',
        cron: '0 * * * *',
        zone: 'UTC',
        urls: ['https://a.test/export/{date}.json'],
        owner: 'schedule',
        overlap: 'skip',
        missed: 'run_once',
      },
    ],
  });
});

test.each([
  [ONE('zone: Mars/Olympus'), 's.yaml:2: schedules.0.zone: "Mars/Olympus" must be a time zone'],
  [ONE('zone: "+02:00"'), 'schedules.0.zone: "+02:00" must be a time zone'],
  [ONE('overlap: twice'), 'schedules.0.overlap: "twice" must be skip or queue'],
  [ONE('missed: always'), 'schedules.0.missed: "always" must be run_once or skip'],
  [ONE('deadline: 6'), 'schedules.0.deadline: "6" must be a text'],
  [ONE('deadline: "6"'), 'schedules.0.deadline: "6" must be a duration'],
  [ONE('deadline: 0s'), 'schedules.0.deadline: "0s" must be a duration'],
  [ONE('deadline: 2026-01-15T12:00:00Z'), 'must be a duration'],
  [ONE('deadline: 400d'), 'at most 365d'],
  [ONE('retry_tokens: -1'), 'schedules.0.retry_tokens: "-1" must be 0 or more'],
  [ONE('retry_tokens: 1.5'), 'schedules.0.retry_tokens: "1.5" must be a whole number'],
  [ONE('approve: "yes"'), 'schedules.0.approve: "yes" must be true or false'],
  [ONE('colour: red'), 's.yaml:2: schedules.0.colour: is not a known key'],
  [ONE('list: a.txt'), 'must have exactly one of list (a file of URLs), urls (templates) and sitemap'],
  [ONE('cron: 0 2 * * *', 'name: n'), 'must have exactly one of list'],
  [ONE('name: n', 'urls: [https://a.test/]'), 'schedules.0.cron: must be given, as a text'],
  [
    ONE('name: n', 'cron: daily\n    list: a'),
    's.yaml:3: schedules.0.cron: "daily" must be a cron line of five fields',
  ],
  [ONE('name: n', 'cron: "@daily"\n    list: a'), 'must be a cron line of five fields'],
  [ONE('name: n', 'cron: 0 0 2 * * *\n    list: a'), 'must be a cron line of five fields'],
  [ONE('name: n', 'cron: 61 2 * * *\n    list: a'), 'must be a cron line of five fields'],
  [ONE('name: n', 'cron: 0 0 30 2 *\n    list: a'), 'must be a cron line of five fields'],
  [ONE('name: "a:b"', 'cron: 0 2 * * *\n    list: a'), 'schedules.0.name: "a:b" must be 1 to 50'],
  [ONE(`name: ${'n'.repeat(51)}`, 'cron: 0 2 * * *\n    list: a'), 'must be 1 to 50'],
  [
    ONE('name: n', 'cron: 0 2 * * *\n    urls: [ftp://a.test/]'),
    'schedules.0.urls.0: "ftp://a.test/" must be an absolute',
  ],
  [
    ONE('name: n', 'cron: 0 2 * * *\n    urls: ["https://a.test/{hour}"]'),
    'has {hour}; a placeholder is {date} or a range such as {1..50}',
  ],
  [
    ONE('name: n', 'cron: 0 2 * * *\n    urls: ["ftp://a.test/{1..3}"]'),
    'must be an absolute http or https URL',
  ],
  [
    ONE('name: n', 'cron: 0 2 * * *\n    urls: ["https://a.test/{1..60000}", "https://b.test/{1..60000}"]'),
    'must stand for at most 100000 URLs in all',
  ],
  [
    ONE('name: n', 'cron: 0 2 * * *\n    sitemap: /sitemap.xml'),
    'must be the absolute http or https URL of a sitemap',
  ],
  [
    ONE('name: n', 'cron: 0 2 * * *\n    sitemap: https://a.test/sitemap.xml\n    list: a.txt'),
    'must have exactly one of list (a file of URLs), urls (templates) and sitemap',
  ],
  [ONE('name: n', 'cron: 0 2 * * *\n    urls: []'), 'must list at least one URL'],
  [ONE('name: n', 'cron: 0 2 * * *\n    list: "{day}.txt"'), 'has a placeholder other than {date}'],
  ['schedules: 5\n', 's.yaml:1: schedules: "5" must be a list'],
  ['', 's.yaml:1: schedules: must be given, as a list'],
  ['schedules: [\n', 's.yaml:2: '],
  ['schedules: &a []\nother: *a\n', 'must not use aliases'],
  ['schedules: []\nschedules: []\n', 'unique'],
])('%j is refused with file, line, key, value and rule', (text, message) => {
  const found = problems(text);
  expect(found).toHaveLength(1);
  expect(found[0]).toContain(message);
});

test('a name that is given twice is refused where it is given again', () => {
  const schedule = '  - name: n\n    cron: 0 2 * * *\n    list: a\n';
  expect(problems(`schedules:\n${schedule}${schedule}`)).toEqual([
    's.yaml:5: schedules.1.name: "n" is the name of another schedule already',
  ]);
});

test('all problems are listed, in the order of the file, at most twenty', () => {
  const bad = '  - name: n\n    cron: never\n    list: a\n    zone: Nowhere\n';
  const found = problems(`schedules:\n${bad.repeat(30)}`);
  expect(found).toHaveLength(20);
  expect(found[0]).toContain('schedules.0.cron');
  expect(found[1]).toContain('schedules.0.zone');
});
