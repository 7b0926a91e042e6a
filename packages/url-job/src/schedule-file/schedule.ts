import { CronExpressionParser } from 'cron-parser';
import { z } from 'zod';
import { canonicalUrl } from '../canonical-url.ts';
import { parseInstant } from '../instant.ts';
import { parseUrlTemplate, TEMPLATE_URLS_MAX, type UrlTemplate } from './url-template.ts';

/** A run is named NAME-YYYYMMDDTHHMM, which has to be a batch name of 64 characters. */
const NAME_GRAMMAR = /^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/;
const NAME_RULE = 'must be 1 to 50 of A-Z a-z 0-9 . _ - and begin with a letter or digit';
const URLS_MAX = 1_000;
const DEADLINE_MS_MAX = 365 * 86_400_000;

const name = z.string().regex(NAME_GRAMMAR, NAME_RULE);

const zone = z
  .string()
  .refine(isZone, 'must be a time zone of the IANA database, such as Europe/Berlin or UTC');

/** Five fields: seconds would make two runs of one name. */
const cron = z
  .string()
  .refine(
    (text) => text.trim().split(/\s+/).length === 5 && parses(text),
    'must be a cron line of five fields: minute hour day month weekday',
  );

const url = z.string().superRefine((text, context) => {
  const parsed = parseUrlTemplate(text);
  if (parsed.kind === 'invalid') context.addIssue({ code: 'custom', message: parsed.rule });
  else if (!isFetchable(parsed.template))
    context.addIssue({ code: 'custom', message: 'must be an absolute http or https URL' });
});

/** One of a template's URLs is as good as any other: they differ in digits. */
function isFetchable({ expand }: UrlTemplate): boolean {
  const [first = ''] = expand('2026-01-15');
  return canonicalUrl(first).kind === 'ok';
}

const urls = z
  .array(url)
  .min(1, 'must list at least one URL')
  .max(URLS_MAX, `must list at most ${URLS_MAX}; a longer list belongs in a file`)
  .refine(
    (all) => all.reduce((sum, text) => sum + urlsIn(text), 0) <= TEMPLATE_URLS_MAX,
    `must stand for at most ${TEMPLATE_URLS_MAX} URLs in all`,
  );

function urlsIn(text: string): number {
  const parsed = parseUrlTemplate(text);
  return parsed.kind === 'ok' ? parsed.template.count : 0;
}

const sitemap = z
  .string()
  .refine(
    (text) =>
      canonicalUrl(text.replaceAll('{date}', '2026-01-15')).kind === 'ok' && !hasOtherPlaceholder(text),
    'must be the absolute http or https URL of a sitemap or of an index of sitemaps; {date} is the only placeholder',
  );

const list = z
  .string()
  .min(1, 'must be the path of a list of URLs')
  .max(4_096, 'must be the path of a list of URLs')
  .refine((text) => !hasOtherPlaceholder(text), 'has a placeholder other than {date}');

const deadline = z
  .string()
  .refine((text) => {
    const parsed = parseInstant('deadline', text, 0);
    return (
      /^\d+(?:s|m|h|d)/.test(text) &&
      parsed.kind === 'ok' &&
      parsed.value > 0 &&
      parsed.value <= DEADLINE_MS_MAX
    );
  }, 'must be a duration such as 90m, 6h or 1d12h, at most 365d')
  .transform((text) => {
    const parsed = parseInstant('deadline', text, 0);
    return parsed.kind === 'ok' ? parsed.value : 0;
  });

/** One piece of recurring work, as the file writes it. */
export const scheduleSchema = z
  .strictObject({
    name,
    cron,
    zone: zone.default('UTC'),
    list: list.optional(),
    urls: urls.optional(),
    sitemap: sitemap.optional(),
    retry_tokens: z
      .int('must be a whole number')
      .min(0, 'must be 0 or more')
      .max(1_000_000_000, 'must be at most 1000000000')
      .optional(),
    deadline: deadline.optional(),
    owner: z
      .string()
      .regex(/^[\w.@ -]{1,64}$/, 'must be 1 to 64 letters, digits, spaces or . _ @ -')
      .default('schedule'),
    approve: z.boolean('must be true or false').optional(),
    overlap: z.enum(['skip', 'queue'], 'must be skip or queue').default('skip'),
    missed: z.enum(['run_once', 'skip'], 'must be run_once or skip').default('run_once'),
  })
  .refine(({ list: file, urls: templates, sitemap: map }) => {
    const named = [file, templates, map].filter((source) => source !== undefined);
    return named.length === 1;
  }, 'must have exactly one of list (a file of URLs), urls (templates) and sitemap');

export type Schedule = z.infer<typeof scheduleSchema>;

function parses(text: string): boolean {
  try {
    // A line such as 30 February is well formed and never comes: asking for a firing tells.
    CronExpressionParser.parse(text, { currentDate: new Date(0), tz: 'UTC' }).next();
    return true;
  } catch {
    return false;
  }
}

function isZone(text: string): boolean {
  try {
    return /^[A-Za-z]/.test(text) && new Intl.DateTimeFormat('en', { timeZone: text }).format() !== '';
  } catch {
    return false;
  }
}

function hasOtherPlaceholder(text: string): boolean {
  return /\{(?!date\})[^}]*\}/.test(text);
}
