import { type CheerioAPI, load } from 'cheerio';
import type { ExtractionRules } from './extraction-rules.ts';
import type { HandlerInput } from './handler-page.ts';

/** Values kept of a field with `all`. */
const VALUES_MAX = 1_000;
const MARKUP =
  /^\s*(?:text\/html|application\/xhtml\+xml|(?:application|text)\/xml|[\w.+-]+\/[\w.-]+\+xml)\s*(?:;|$)/iu;
const XML = /xml/iu;
/** Attributes that hold one address, which is given whole. */
const ADDRESSES = new Set(['href', 'src', 'action', 'poster', 'cite']);

type Found =
  | { readonly kind: 'useful'; readonly data: Readonly<Record<string, unknown>> }
  | { readonly kind: 'not_useful'; readonly reason: string };

/** Takes the fields out of a page. @throws Error on a selector that is none. */
export function extractFields(rules: ExtractionRules, page: HandlerInput): Found {
  if (page.contentType !== null && !MARKUP.test(page.contentType))
    return { kind: 'not_useful', reason: 'neither HTML nor XML' };
  const isXml = XML.test(page.contentType ?? '') && !/xhtml/iu.test(page.contentType ?? '');
  const dom = load(page.text(), { xml: isXml });
  const base = baseOf(dom, page.finalUrl);
  const data = Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => [name, valueOf(dom, base, rule)] as const),
  );
  const isEmpty = Object.values(data).every(
    (value) => value === null || (Array.isArray(value) && value.length === 0),
  );
  return isEmpty
    ? { kind: 'not_useful', reason: 'no field of the extraction matched' }
    : { kind: 'useful', data };
}

function valueOf(dom: CheerioAPI, base: string, rule: ExtractionRules[string]): string | null | string[] {
  const found = dom(rule.selector)
    .slice(0, rule.all ? VALUES_MAX : 1)
    .toArray()
    .map((element) => {
      const { attribute } = rule;
      if (attribute === undefined) return dom(element).text().replaceAll(/\s+/gu, ' ').trim();
      const value = dom(element).attr(attribute);
      return value === undefined || !ADDRESSES.has(attribute)
        ? value
        : (URL.parse(value, base)?.href ?? value);
    })
    .filter((value) => value !== undefined);
  return rule.all ? found : (found[0] ?? null);
}

function baseOf(dom: CheerioAPI, finalUrl: string): string {
  const named = dom('base[href]').first().attr('href');
  return (named === undefined ? null : URL.parse(named, finalUrl)?.href) ?? finalUrl;
}
